import type { CheckRun, CheckState } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import {
  IconCircleCheck,
  IconCircleX,
  IconClock,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { commandOutputQuery } from '../../../data/workspace-queries.ts';
import { RUN_TEXTS, runFacts, runTime } from '../../../lib/check-words.ts';
import { exactTime } from '../../../lib/format.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { OutputScreen } from '../../../ui/output-screen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import css from './checks.module.css';

const ICONS: Readonly<Record<CheckState, typeof IconClock>> = {
  waiting: IconClock,
  running: IconPlayerPlay,
  passed: IconCircleCheck,
  failed: IconCircleX,
  'timed-out': IconCircleX,
  stopped: IconPlayerStop,
  interrupted: IconRefresh,
  'not-started': IconCircleX,
};

/** One run: its result in a line, and its output. The newest is open until somebody closes it. */
export function CheckRunView({ run, isNewest }: { run: CheckRun; isNewest: boolean }) {
  const [isToggled, setToggled] = useState(false);
  const isOpen = isToggled !== isNewest;
  const outputId = useId();
  const Icon = ICONS[run.state];
  const took = runTime(run);
  return (
    <li className={css.run} data-state={run.state}>
      <button
        type="button"
        className={css.head}
        aria-expanded={isOpen}
        aria-controls={outputId}
        onClick={() => setToggled(!isToggled)}
      >
        <Icon size={16} aria-hidden />
        <strong>{RUN_TEXTS[run.state]}</strong> <span className={css.phase}>{run.phase}</span>{' '}
        <span className={css.runFacts}>{runFacts(run).join(', ')}</span>{' '}
        <span className={css.time} title={exactTime(run.startedAt ?? run.createdAt)}>
          {took ?? <TimeSince at={run.startedAt ?? run.createdAt} />}
        </span>
      </button>
      {isOpen && (
        <div id={outputId} className={css.output}>
          {run.reason !== null && <p className={css.reason}>{run.reason}</p>}
          <Output run={run} />
        </div>
      )}
    </li>
  );
}

/** Whether the server keeps this output no longer. */
const isGone = (error: Error | null): boolean => error instanceof TransportError && error.code === 'unknown_command';

function Output({ run }: { run: CheckRun }) {
  const { stageId, commandId, state } = run;
  const { data, error, refetch } = useQuery(commandOutputQuery({ stageId, id: commandId, state }));
  if (commandId === null) return null;
  if (isGone(error)) return <p className={css.facts}>The output is gone: only that of the newest 20 runs is kept.</p>;
  if (error !== null)
    return <ErrorNote lead="The output could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <OutputScreen
      output={data.text}
      note={data.isCut ? 'The beginning is left out.' : null}
      empty={state === 'running' ? 'No output yet' : 'No output'}
      isTall
    />
  );
}
