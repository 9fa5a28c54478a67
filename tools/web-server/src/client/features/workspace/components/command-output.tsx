import type { WorktreeCommand } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { commandOutputQuery } from '../../../data/workspace-queries.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { OutputScreen } from '../../../ui/output-screen.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { isolationText } from '../model/run-words.ts';
import css from './workspace.module.css';

/** What a run printed, which follows its end while it runs. */
export function CommandOutputBox({ run }: { run: WorktreeCommand }) {
  const { data, error, refetch } = useQuery(commandOutputQuery(run));
  return (
    <div className={css.output}>
      <p className={css.command}>
        <code>
          <Seen text={run.command} kind="command" />
        </code>
        <span className={css.facts}>{isolationText(run.isolation)}</span>
      </p>
      <OutputScreen
        output={data?.text ?? ''}
        note={data?.isCut === true ? 'Only the end is shown.' : null}
        empty={run.state === 'running' ? 'No output yet' : 'No output'}
      />
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
    </div>
  );
}
