import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import { useBoardUi } from '../model/board-ui.ts';
import css from './empty-board.module.css';

/** Three ways to begin, shown above an empty board. */
export function EmptyBoard() {
  const { data: hasProject } = useQuery({ ...boardQuery, select: (view) => view.projects.length > 0 });
  const { open } = useBoardUi.getState();
  const begin = () =>
    open(hasProject === true ? { kind: 'new-stage', projectId: null } : { kind: 'add-project', thenNewStage: true });
  return (
    <div className={css.doors}>
      <Door
        title="Choose a repository and write the first stage"
        text="A stage is one piece of work. Claude does it in a worktree of its own and asks you here whenever it needs you."
      >
        <Button onClick={begin} disabled={!useCanCommand()}>
          {hasProject === true ? 'Write the first stage' : 'Choose a repository'}
        </Button>
      </Door>
      <Door title="See the demo" text="A sample board on a scripted model: no account, no network, three minutes.">
        <CopyLine text="npm run demo" />
      </Door>
      <Door
        title="What is missing on this machine"
        text="Looks for everything that Callboard needs and says how to get what is not there."
      >
        <CopyLine text="npx callboard doctor" />
      </Door>
    </div>
  );
}

function Door({ title, text, children }: { title: string; text: string; children: ReactNode }) {
  return (
    <section className={css.door}>
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
    </section>
  );
}
