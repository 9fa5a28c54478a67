import type { StageView } from '@callboard/contract';
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
