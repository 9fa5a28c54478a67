import type { CheckRun, StageId, WorktreeCommand } from '@callboard/contract';
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

/** What ran in the worktree of a stage, newest first. Events keep it up to date. */
export const commandsQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['commands', stageId],
    queryFn: async ({ signal }) => (await client.command('get_stage_commands', { stageId }, { signal })).commands,
  });

/** The dev servers of a stage. Events keep their runs up to date. */
export const serversQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['servers', stageId],
    queryFn: async ({ signal }) => (await client.command('get_servers', { stageId }, { signal })).servers,
    // No event tells that the settings of the project have changed.
    staleTime: 0,
  });

/** The output of a run, as far as it is shown. */
interface ShownOutput {
  text: string;
  /** The beginning is missing. */
  isCut: boolean;
  /** Where to go on reading. */
  to: number | undefined;
}

/** A run whose output is read; its id is null until its command has begun. */
interface ReadRun extends Pick<WorktreeCommand, 'stageId'> {
  id: string | null;
  state: WorktreeCommand['state'] | CheckRun['state'];
}

/** A character that is not whole yet has at most so many bytes. */
const PARTIAL = 3;
/** How many characters a page keeps of an output. */
const SAVED = 200_000;
const READ_MS = 1_000;
const NOTHING: ShownOutput = { text: '', isCut: false, to: undefined };

/** The output of a run, which grows while it runs: each reading asks for what is new. */
export const commandOutputQuery = ({ stageId, id, state }: ReadRun) =>
  queryOptions({
    queryKey: ['command-output', stageId, id],
    queryFn: async ({ signal, client: cache, queryKey }): Promise<ShownOutput> => {
      const shown = cache.getQueryData<ShownOutput>(queryKey) ?? NOTHING;
      const read = (after?: number) =>
        client.command('get_command_output', { stageId, commandId: id ?? '', after }, { signal });
      let page = await read(shown.to);
      // More than a page has come: the end is what people look at.
      if (shown.to !== undefined && page.total - page.to > PARTIAL) page = await read();
      const isNext = page.from === shown.to;
      const text = isNext ? shown.text + page.output : page.output;
      const isCut = isNext ? shown.isCut : page.from > 0;
      return { text: text.slice(-SAVED), isCut: isCut || text.length > SAVED, to: page.to };
    },
    enabled: id !== null,
    staleTime: 0,
    refetchInterval: state === 'running' ? READ_MS : false,
  });

/** Takes the news of a run into what is shown. */
export function applyCommand(cache: QueryClient, run: WorktreeCommand): void {
  const { stageId, id } = run;
  cache.setQueryData(commandsQuery(stageId).queryKey, (old) =>
    old?.some((one) => one.id === id) ? old.map((one) => (one.id === id ? run : one)) : old && [run, ...old],
  );
  if (run.kind === 'server')
    cache.setQueryData(serversQuery(stageId).queryKey, (old) =>
      old?.map((server) => (server.name === run.name ? { ...server, run } : server)),
    );
  if (run.state !== 'running') void cache.invalidateQueries({ queryKey: commandOutputQuery(run).queryKey });
}
