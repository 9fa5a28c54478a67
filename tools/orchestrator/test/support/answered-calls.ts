import { LaunchId, PendingRequest, RequestId, type StageId } from '@callboard/contract';
import { sampleDecision, sampleRequest } from '@callboard/contract/samples';
import type { Store, Tx } from '../../src/store/store.ts';

const SUGGESTIONS = [{ type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash' }] }];
const LAUNCH = LaunchId.parse('launch-1');

/** What a person answered, in order. */
export interface Answered {
  stageId: StageId;
  /** A command, or other fields of the request. */
  asked: string | Record<string, unknown>;
  /** Fields of the decision; an allowance by Ada unless they say otherwise. */
  decision?: Record<string, unknown>;
}

let answered = 0;

/** Adds a request that a person answered to the decision log; returns its id. */
export async function addAnswered(tx: Tx, { stageId, asked, decision = {} }: Answered): Promise<RequestId> {
  const requestId = RequestId.parse(`answered-${++answered}`);
  const fields = typeof asked === 'string' ? { input: { command: asked } } : asked;
  const request = PendingRequest.parse(sampleRequest({ stageId, requestId, suggestions: SUGGESTIONS, ...fields }));
  const of = { stageId, requestId, toolName: request.toolName, asked: `Bash ${request.input.command}` };
  await tx.requests.addDecided(request, sampleDecision({ ...of, at: tx.now, waitedMs: 1_000, ...decision }), LAUNCH);
  return requestId;
}

/** As `addAnswered`, for several commands; returns the id of the last. */
export async function answerAll(
  store: Store,
  stageId: StageId,
  ...calls: Omit<Answered, 'stageId'>[]
): Promise<RequestId> {
  const ids = await store.transact(async (tx) => {
    const done: RequestId[] = [];
    for (const call of calls) done.push(await addAnswered(tx, { stageId, ...call }));
    return done;
  });
  const last = ids.at(-1);
  if (last === undefined) throw new Error('nothing was answered');
  return last;
}

export const DENIED = { outcome: 'denied', reason: 'Not now' };
export const times = (count: number, asked: Answered['asked']): Omit<Answered, 'stageId'>[] =>
  Array.from({ length: count }, () => ({ asked }));
