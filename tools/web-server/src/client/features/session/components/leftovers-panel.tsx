import type { StageId, StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import css from './leftovers-panel.module.css';

/** The processes that outlived the session's own, and that only a person ends. Shows nothing if there are none. */
export function LeftoversPanel({ stage }: { stage: StageView }) {
  const { data: processes = [] } = useQuery(leftoversQuery(stage.id, stage.session?.leftovers ?? 0));
  const end = useEndLeftovers(stage.id);
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

/** No event reports when one of them ends. */
const POLL_MS = 5_000;

/** What a session's ended processes left running. `count` is what the session says; a change reads the list again. */
const leftoversQuery = (stageId: StageId, count: number) =>
  queryOptions({
    queryKey: ['processes', stageId, count],
    queryFn: async ({ signal }) => (await client.command('get_leftovers', { stageId }, { signal })).processes,
    enabled: count > 0,
    staleTime: 0,
    refetchInterval: POLL_MS,
  });

function useEndLeftovers(stageId: StageId) {
  const queryClient = useQueryClient();
  return useCommand({
    run: async (pids: readonly number[]) => {
      try {
        return await client.command('end_leftovers', { stageId, pids: [...pids] });
      } finally {
        void queryClient.invalidateQueries({ queryKey: ['processes', stageId] });
      }
    },
    failed: 'The processes were not ended',
  });
}
