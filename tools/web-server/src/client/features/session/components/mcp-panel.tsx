import type { McpServer, McpState, StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconPlug } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CodeBlock } from '../../../ui/code.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { mcpServersQuery, useReconnectMcp } from '../api/session-commands.ts';
import { mayReconnect, mcpFacts, mcpStateLabel, mcpSummary } from '../model/control-words.ts';
import { Fold } from './fold.tsx';
import css from './session-controls.module.css';

/** The session's MCP servers, folded to one line; each can be reconnected. */
export function McpPanel({ stage }: { stage: StageView }) {
  const servers = stage.session?.mcpServers ?? [];
  if (servers.length === 0) return null;
  return (
    <section aria-label="MCP servers">
      <Fold id={`mcp:${stage.id}`} summary={<span className={css.summary}>{mcpSummary(servers)}</span>}>
        <Servers stage={stage} />
      </Fold>
    </section>
  );
}

const ICONS: Partial<Record<McpState, typeof IconPlug>> = {
  connected: IconCircleCheck,
  failed: IconAlertTriangle,
  'needs-auth': IconAlertTriangle,
};

function Servers({ stage }: { stage: StageView }) {
  const { data, error, refetch } = useQuery(mcpServersQuery(stage.id, stage.session?.mcpServers ?? []));
  const reconnect = useReconnectMcp(stage.id);
  const canCommand = useCanCommand();
  const busy = reconnect.isPending ? reconnect.variables : null;
  return (
    <>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} stageId={stage.id} />}
      <ul className={css.list}>
        {data?.map((server) => (
          <li key={server.name} data-state={server.state}>
            <ServerIcon server={server} />
            <ServerText server={server} />
            {mayReconnect(server) && (
              <div className={css.actions}>
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={`Reconnect ${server.name}`}
                  disabled={!canCommand || (busy !== null && busy !== server.name)}
                  loading={busy === server.name}
                  onClick={() => reconnect.mutate(server.name)}
                >
                  Reconnect
                </Button>
              </div>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function ServerIcon({ server: { state } }: { server: McpServer }) {
  const Icon = ICONS[state] ?? IconPlug;
  return <Icon size={16} aria-hidden />;
}

function ServerText({ server }: { server: McpServer }) {
  const facts = mcpFacts(server);
  return (
    <div className={css.words}>
      <div>
        <span className={css.name}>
          <Seen text={server.name} kind="prose" />
        </span>{' '}
        <span className={css.facts}>{mcpStateLabel(server.state)}</span>
      </div>
      {facts !== null && (
        <span className={css.why}>
          <Seen text={facts} kind="prose" />
        </span>
      )}
      {server.stderr !== undefined && <CodeBlock text={server.stderr} />}
    </div>
  );
}
