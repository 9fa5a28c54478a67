import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { leftProcessesQuery, useEndProcesses } from '../api/left-processes.ts';
import css from './leftovers-panel.module.css';

/** What outlived the session's process and is not ended without a person. Nothing where there is nothing of it. */
export function LeftProcesses({ stage }: { stage: StageView }) {
  const { data: processes = [] } = useQuery(leftProcessesQuery(stage.id, stage.session?.leftovers ?? 0));
  const end = useEndProcesses(stage.id);
  const canCommand = useCanCommand();
  if (processes.length === 0) return null;
  const isOne = processes.length === 1;
  return (
    <section className={css.left} aria-labelledby="left-processes">
      <div className={css.words}>
        <h2 id="left-processes">
          {isOne ? '1 process of this session is' : `${processes.length} processes of this session are`} still running
        </h2>
        <p>They dropped Callboard's marker, so Callboard does not end them by itself. End what you do not need.</p>
      </div>
      <ul className={css.list}>
        {processes.map(({ pid, command, startedAt }) => (
          <li key={pid}>
            <code title={command}>
              <Seen text={command} kind="command" />
            </code>
            <span className={css.facts}>
              pid {pid} · <TimeSince at={startedAt} />
            </span>
          </li>
        ))}
      </ul>
      <Button
        variant="default"
        disabled={!canCommand}
        loading={end.isPending}
        onClick={() => end.mutate(processes.map(({ pid }) => pid))}
      >
        {isOne ? 'End process' : `End ${processes.length} processes`}
      </Button>
    </section>
  );
}
