import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import { useBoardUi } from '../model/board-ui.ts';
import css from './empty-board.module.css';
import { ThisMachine } from './this-machine.tsx';

/** Three ways to begin, shown above an empty board. */
export function EmptyBoard() {
  const { data: hasProject = false } = useQuery({ ...boardQuery, select: (view) => view.projects.length > 0 });
  const { open } = useBoardUi.getState();
  const begin = () =>
    open(hasProject ? { kind: 'new-stage', projectId: null } : { kind: 'add-project', thenNewStage: true });
  return (
    <div className={css.doors}>
      <ProxyEntry
        title={hasProject ? 'Your first stage' : 'Your first repository'}
        text={
          hasProject
            ? 'A stage is one piece of work, written as a prompt. Claude works on it in its own worktree and calls you here.'
            : 'Choose a repository on this machine, then tell Claude what to do. Claude works in its own worktree and calls you here.'
        }
      >
        <Button onClick={begin} disabled={!useCanCommand()}>
          {hasProject ? 'Write the first stage' : 'Choose a repository'}
        </Button>
      </ProxyEntry>
      <ProxyEntry
        title="See the demo"
        text="A sample board on a scripted model: no account, no network, three minutes."
      >
        <CopyLine text="npm run demo" />
      </ProxyEntry>
      <ProxyEntry title="Check this machine">
        <ThisMachine />
        <p>All checks, in a terminal:</p>
        <CopyLine text="npx callboard doctor" />
      </ProxyEntry>
    </div>
  );
}

function ProxyEntry({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  return (
    <section className={css.door}>
      <h2>{title}</h2>
      {text !== undefined && <p>{text}</p>}
      {children}
    </section>
  );
}
