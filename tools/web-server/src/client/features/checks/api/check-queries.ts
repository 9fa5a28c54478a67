import type { CheckRun, StageView } from '@callboard/contract';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client } from '../../../lib/api-client.ts';

/** How often what runs is read. */
const LIVE_MS = 1_000;

/** The runs of a stage's checks. What the board says of the newest one reads them again. */
export const checksQuery = ({ id: stageId, session }: StageView) =>
  queryOptions({
    queryKey: ['checks', stageId, session?.check?.checkId, session?.check?.state],
    queryFn: async ({ signal }) => (await client.command('get_checks', { stageId }, { signal })).checks,
    placeholderData: keepPreviousData,
    staleTime: 0,
    // Its output can be read as soon as its command has begun.
    refetchInterval: ({ state: { data } }) =>
      data?.some((run) => run.state === 'running' && run.commandId === null) === true ? LIVE_MS : false,
  });

/** The phases that have begun. */
export const phasesQuery = ({ id: stageId, session }: StageView) =>
  queryOptions({
    queryKey: ['phases', stageId, session?.phaseIndex, session?.lastTurn?.at],
    queryFn: async ({ signal }) => (await client.command('get_phases', { stageId }, { signal })).phases,
    placeholderData: keepPreviousData,
    staleTime: 0,
    enabled: session !== null,
  });

/** The end of the output of a check, kept up to date while it runs. */
export const checkOutputQuery = ({ stageId, commandId, state }: CheckRun) =>
  queryOptions({
    queryKey: ['check-output', stageId, commandId, state],
    queryFn: ({ signal }) => client.command('get_command_output', { stageId, commandId: commandId ?? '' }, { signal }),
    placeholderData: keepPreviousData,
    staleTime: state === 'running' ? 0 : Number.POSITIVE_INFINITY,
    refetchInterval: state === 'running' ? LIVE_MS : false,
    enabled: commandId !== null,
  });
