import { type Decision, RequestId } from '@callboard/contract';
import { openChange, saveChange } from '../../src/core/session/change-session.ts';
import { decideRequest, type Verdict } from '../../src/core/session/requests.ts';
import type { Reported, TestSession } from './test-session.ts';

export const ALLOWED = { subtype: 'success', response: { behavior: 'allow' } };
const VERDICT = { outcome: 'allowed', by: 'Ada', reason: null, answers: null, updatedInput: null } as const;

/** Stores a person's decision on a request, as the approval service does. */
export async function decide(
  session: TestSession,
  id: string,
  response: Record<string, unknown>,
  verdict: Omit<Verdict, 'delivery'>,
): Promise<void> {
  const { store, platform, stageId } = session;
  await store.transact(async (tx) => {
    const stored = await tx.requests.find(stageId, RequestId.parse(id));
    if (stored === null) throw new Error(`no request ${id}`);
    const row = {
      id: platform.newId(),
      stageId,
      launchId: stored.launchId,
      wireId: id,
      actor: 'Ada',
      createdAt: tx.now,
    };
    await tx.outbox.insert({ ...row, body: { kind: 'answer', response } });
    const change = await openChange(tx, stageId);
    await decideRequest(tx, change, stored.request, { ...verdict, delivery: 'accepted' });
    await saveChange(tx, change);
  });
}

/** Stores that a person allows the request. */
export const allow = (session: TestSession, id = 'r1', response: Record<string, unknown> = ALLOWED): Promise<void> =>
  decide(session, id, response, VERDICT);

/** Marks the answer as written to the process's input. */
export async function write(session: TestSession, id = 'r1'): Promise<void> {
  const row = await answerRow(session, id);
  if (row === undefined) throw new Error(`no answer to ${id}`);
  await session.store.transact((tx) => tx.outbox.setWritten(row, tx.now));
}

/** Returns the stored outcome of a request. */
export const decision = async ({ store, stageId }: TestSession, id = 'r1'): Promise<Decision | null> =>
  (await store.read.requests.find(stageId, RequestId.parse(id)))?.decision ?? null;

/** The CLI's report of which answer took effect. */
export const echo = (response: Record<string, unknown> = ALLOWED, requestId = 'r1'): Reported => ({
  type: 'response',
  requestId,
  ok: response.subtype === 'success',
  response: { ...response, request_id: requestId },
});

/** Returns the outbox row that answers a request. */
export const answerRow = async (session: TestSession, id = 'r1') =>
  (await session.outbox()).find((row) => row.kind === 'answer' && row.wireId === id);

/** Returns the codes of the notices in the transcript. */
export const notices = async (session: TestSession) =>
  (await session.transcript()).flatMap((entry) => (entry.kind === 'notice' ? [entry.code] : []));
