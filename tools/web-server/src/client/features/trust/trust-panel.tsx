import type { ProjectTrust, TrustItem, TrustKind } from '@callboard/contract';
import { Badge, Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useId } from 'react';
import type { TrustLocation } from '../../data/dialogs.ts';
import { trustQuery, useTrustLater } from '../../data/trust-query.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Seen } from '../../ui/text.tsx';
import css from './trust-panel.module.css';

interface TrustPanelProps {
  place: TrustLocation;
  /** Closes the panel. If set, the panel has a second button for it. */
  done?: () => void;
}

/** Lists what a repository's settings would enable, with the button that agrees to it. */
export default function TrustPanel({ place, done }: TrustPanelProps) {
  const { data, error, refetch } = useQuery(trustQuery(place));
  const trust = useTrust(place, done);
  const canCommand = useCanCommand();
  const { later } = useTrustLater.getState();
  if (error !== null)
    return <ErrorNote lead="The settings could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <p className={css.lead}>Reading the settings…</p>;
  const groups = trustGroups(data.trust);
  return (
    <div className={css.panel}>
      <p className={css.lead}>{leadOf(data.trust, place.stageId !== undefined)}</p>
      {groups.map((group) => (
        <Group key={group.kind} group={group} marksNew={data.trust.items.some(({ isNew }) => !isNew)} />
      ))}
      {trust.isError && <ErrorNote error={trust.error} />}
      {data.trust.needed && (
        <div className={css.end}>
          {done !== undefined && (
            <Button
              variant="default"
              onClick={() => {
                if (place.stageId === undefined) later(place.projectId, data.trust.hash);
                done();
              }}
            >
              Not now
            </Button>
          )}
          <Button disabled={!canCommand} loading={trust.isPending} onClick={() => trust.mutate(data.trust.hash)}>
            Trust this repository
          </Button>
        </div>
      )}
    </div>
  );
}

function leadOf({ needed, items }: ProjectTrust, isStage: boolean): string {
  const where = isStage ? 'This stage’s worktree' : 'This repository';
  if (items.length === 0) return `${where} has no settings that need your trust.`;
  if (!needed) return `${where} is trusted as it is. If any of this changes, Callboard asks again.`;
  return items.some(({ isNew }) => !isNew)
    ? `${where} has settings that have changed since you trusted it. Until you trust them, sessions start without them.`
    : `${where} has settings that take effect when Claude starts in it. Until you trust them, sessions start without them.`;
}

function Group({ group, marksNew }: { group: TrustGroup; marksNew: boolean }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h4 className={css.title} id={id}>
        {group.title}
      </h4>
      <ul className={css.items}>
        {group.items.map((item) => (
          <Item key={`${item.file} ${item.text} ${item.value}`} item={item} marksNew={marksNew} />
        ))}
      </ul>
    </section>
  );
}

function Item({ item: { text, value, file, isNew }, marksNew }: { item: TrustItem; marksNew: boolean }) {
  return (
    <li>
      {value !== '' && (
        <code className={css.value}>
          <Seen text={value} kind="command" />
        </code>
      )}
      <div className={css.about}>
        {isNew && marksNew && (
          <Badge size="sm" variant="default" className={css.badge}>
            New
          </Badge>
        )}
        {text} {file !== '' && <span className={css.file}>{file}</span>}
      </div>
    </li>
  );
}

function useTrust({ projectId, stageId }: TrustLocation, done: (() => void) | undefined) {
  const cache = useQueryClient();
  const refresh = () => cache.invalidateQueries({ queryKey: trustQuery({ projectId, stageId }).queryKey });
  return useCommand({
    run: async (hash: string) => {
      try {
        return await client.command('trust_project', { projectId, hash });
      } finally {
        await refresh();
      }
    },
    done: () => done?.(),
  });
}

const TITLES: Readonly<Record<TrustKind, string>> = {
  hook: 'Hooks',
  helper: 'Helpers',
  env: 'Environment',
  'mcp-server': 'MCP servers',
  plugin: 'Plugins',
  rule: 'Rules',
  mode: 'Modes',
  directory: 'Folders',
  command: 'Commands that Callboard runs in worktrees',
  other: 'Other settings',
};

export interface TrustGroup {
  kind: TrustKind;
  title: string;
  items: TrustItem[];
}

/** Groups the items by kind. Within a group, items that nobody has agreed to come first. */
export function trustGroups({ items }: Pick<ProjectTrust, 'items'>): TrustGroup[] {
  const kinds = Object.keys(TITLES) as TrustKind[];
  return kinds
    .map((kind) => ({ kind, title: TITLES[kind], items: items.filter((item) => item.kind === kind) }))
    .filter((group) => group.items.length > 0)
    .map((group) => ({ ...group, items: group.items.toSorted((a, b) => Number(b.isNew) - Number(a.isNew)) }));
}
