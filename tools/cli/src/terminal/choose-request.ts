import type { BoardView, PendingRequest } from '@callboard/contract';
import type { Platform } from '../edges.ts';
import { CliError, UsageError } from '../errors.ts';
import type { ApiWork, Hint } from './desk-command.ts';
import { findRequest, notOpen, shortIds } from './find.ts';
import { requestLine, requestLines } from './request-text.ts';
import { styleOf } from './style.ts';

/** The request to decide, and whether a person named it. */
export interface Chosen {
  readonly request: PendingRequest;
  readonly isNamed: boolean;
}

/** How many of the newest decisions are searched for one that somebody else made. */
const RECENT = 200;

/**
 * Finds the request that the command line names, or the only open one, and prints it whole to stderr.
 * @throws CliError if it is no longer open, with who decided it, or if none is
 * @throws UsageError if several are open and none is named, or if nobody is there to confirm the only one
 */
export async function chooseRequest(
  { api, platform, hint }: Pick<ApiWork<object>, 'api' | 'platform' | 'hint'>,
  id: string | undefined,
): Promise<Chosen> {
  const board = await api.command('get_board', {});
  const chosen = id === undefined ? onlyOne(board, platform, hint) : await namedOne({ api, hint }, board, id);
  const stage = board.stages.find(({ id }) => id === chosen.request.stageId);
  const place = {
    title: stage?.title ?? '',
    folder: stage?.worktree?.path ?? null,
    width: platform.columns(),
    style: styleOf(platform),
    now: platform.now(),
  };
  for (const line of requestLines(chosen.request, place)) platform.err(line);
  return chosen;
}

async function namedOne(
  { api, hint }: Pick<ApiWork<object>, 'api' | 'hint'>,
  { pending }: BoardView,
  id: string,
): Promise<Chosen> {
  const request = findRequest(pending, id);
  if (request !== null) return { request, isNamed: true };
  const { decisions } = await api.command('get_decisions', { limit: RECENT });
  throw notOpen(decisions, id, hint);
}

function onlyOne({ pending }: BoardView, { input }: Platform, hint: Hint): Chosen {
  const [request] = pending;
  if (request === undefined) throw new CliError('no request is open.');
  if (pending.length > 1) {
    const list = [...shortIds(pending)].map(([one, id]) => `\n  ${id}  ${one.stageId}  ${requestLine(one)}`).join('');
    throw new UsageError(`${pending.length} requests are open. Name the one you mean:${list}`);
  }
  if (!input.isTerminal) {
    throw new UsageError(`without a terminal, name the request. They are listed by: ${hint('pending')}`);
  }
  return { request, isNamed: false };
}

/**
 * Asks before a request is decided that nobody named.
 * @throws CliError unless the person says yes; nothing is decided then
 */
export async function confirm({ isNamed }: Chosen, question: string, { input }: Platform): Promise<void> {
  if (isNamed) return;
  const answer = await input.ask(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer?.trim() ?? '')) throw new CliError('nothing was decided. The request is still open.');
}
