import type { Project } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { z } from 'zod';
import { boardQuery } from '../../../data/queries.ts';
import { readStored, writeStored } from '../../../lib/browser-storage.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Note } from '../../../ui/note.tsx';
import { useSettleSandbox } from '../api/use-board-commands.ts';
import boardCss from './board.module.css';
import css from './git-settings-review.module.css';
import { SandboxSupportNote } from './sandbox-support-note.tsx';

/** Beneath the board's bar: the one offer to projects that are older than the sandbox, or why it does not work here. */
export function SandboxNotices() {
  const { data: support } = useQuery({ ...boardQuery, select: (view) => view.sandbox });
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const undecided = projects.filter(({ settings }) => settings.sandbox === null);
  if (support?.state === 'works') return undecided.length > 0 && <Offer projects={undecided} />;
  const isWanted = projects.some(({ settings }) => settings.sandbox === true);
  if (support?.state !== 'fails' || !isWanted) return null;
  return <Missing key={support.why} support={support} />;
}

/** One for all of them: whoever wants to differ does so in the settings of a project. */
function Offer({ projects }: { projects: readonly Project[] }) {
  const names = new Intl.ListFormat('en').format(projects.map(({ name }) => name));
  const settle = useSettleSandbox(names);
  const canCommand = useCanCommand();
  const button = (sandbox: boolean, label: string) => (
    <Button
      variant="default"
      size="compact-md"
      aria-label={`${label}: a sandbox for ${names}`}
      disabled={!canCommand || settle.isPending}
      loading={settle.isPending && settle.variables.sandbox === sandbox}
      onClick={() => settle.mutate({ projectIds: projects.map(({ id }) => id), sandbox })}
    >
      {label}
    </Button>
  );
  return (
    <div className={boardCss.warning}>
      <Note>
        <div className={css.notice}>
          <span>
            Claude’s commands in {names} can run in a sandbox: they then cannot reach what answers for you, and you are
            asked before they use the network. It takes effect at each stage’s next start.
          </span>
          {button(false, 'Not now')}
          {button(true, 'Turn on')}
        </div>
      </Note>
    </div>
  );
}

const HIDDEN = 'callboard-sandbox-hidden';

function Missing({ support }: Parameters<typeof SandboxSupportNote>[0]) {
  const [hidden, setHidden] = useState(() => readStored(HIDDEN, z.string(), ''));
  const cause = support.why ?? '';
  if (hidden === cause && cause !== '') return null;
  const hide = () => {
    writeStored(HIDDEN, cause);
    setHidden(cause);
  };
  return (
    <div className={boardCss.warning}>
      <SandboxSupportNote support={support}>
        <Button variant="default" size="compact-md" onClick={hide}>
          Hide
        </Button>
      </SandboxSupportNote>
    </div>
  );
}
