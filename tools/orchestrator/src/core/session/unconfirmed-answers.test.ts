import { describe, expect, it } from 'vitest';
import { allow, decide, decision, echo, write } from '../../../test/support/test-answers.ts';
import {
  asked,
  busyTestSession,
  type Reported,
  type TestSession,
  turnEnded,
} from '../../../test/support/test-session.ts';

const result = (fields: { isError?: boolean; text?: string; toolUseId?: string } = {}): Reported => ({
  type: 'tool-result',
  toolUseId: 'toolu_1',
  isError: false,
  text: 'made it',
  parentToolUseId: null,
  allowedBy: null,
  sandboxFailure: null,
  ...fields,
});

const REASON = 'Use the other one';
const deny = (session: TestSession) =>
  decide(
    session,
    'r1',
    { subtype: 'success', response: { behavior: 'deny', message: REASON } },
    { outcome: 'denied', by: 'Ada', reason: REASON, answers: null, updatedInput: null },
  );

/** A session whose request is answered: the answer is written, and nothing has come back. */
async function answered(answer: (session: TestSession) => Promise<void> = allow): Promise<TestSession> {
  const session = await busyTestSession();
  await session.emit(asked('r1'));
  await answer(session);
  await write(session);
  return session;
}

const unsettled = async ({ store, stageId }: TestSession) =>
  (await store.read.requests.listUnsettledOf(stageId)).length;

describe('an answer whose process ended before confirming it', () => {
  it('keeps the decision, when it was written, and when and why the process ended', async () => {
    const session = await answered();
    await session.end();
    expect(await decision(session)).toMatchObject({
      asked: 'Bash make',
      outcome: 'allowed',
      by: 'Ada',
      delivery: 'unknown',
      settlement: null,
      lost: { writtenAt: expect.any(String), endedAt: expect.any(String), endReason: 'The process is gone.' },
    });
    expect(await unsettled(session)).toBe(1);
    expect((await session.store.board()).unsettled).toMatchObject([{ requestId: 'r1' }]);
  });

  it('has no time of writing if nobody watched the process', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    await allow(session);
    await session.end({ kind: 'died', wasWatched: false, reason: 'Gone.' });
    expect(await decision(session)).toMatchObject({ delivery: 'unknown', lost: { writtenAt: null } });
  });

  it('counted if its call has a result', async () => {
    const session = await answered();
    await session.emit(result());
    await session.end();
    expect(await decision(session)).toMatchObject({ delivery: 'confirmed', lost: null });
    expect(await unsettled(session)).toBe(0);
  });

  it.each([
    ['a failed call, because an interrupted call fails too', { isError: true }],
    ['another call', { toolUseId: 'toolu_2' }],
  ])('stays unknown after the result of %s', async (_what, fields) => {
    const session = await answered();
    await session.emit(result(fields));
    await session.end();
    expect(await decision(session)).toMatchObject({ delivery: 'unknown' });
  });

  it('counted as a denial if the result has its text, and stays unknown if the call succeeded', async () => {
    const refused = await answered(deny);
    await refused.emit(result({ isError: true, text: `Denied: ${REASON}` }));
    await refused.end();
    expect(await decision(refused)).toMatchObject({ delivery: 'confirmed' });
    const ran = await answered(deny);
    await ran.emit(result());
    await ran.end();
    expect(await decision(ran)).toMatchObject({ delivery: 'unknown' });
  });

  it('is confirmed when the resumed conversation shows the result of its call', async () => {
    const session = await answered();
    await session.end();
    await session.begin();
    await session.emit(result());
    expect(await decision(session)).toMatchObject({ delivery: 'confirmed', lost: null });
    expect(session.events('decision-updated').at(-1)).toMatchObject({ delivery: 'confirmed' });
  });
});

describe('an answer to a living process whose echo was lost', () => {
  it('is confirmed by the result of its call', async () => {
    const session = await answered();
    await session.emit(result());
    expect(await decision(session)).toMatchObject({ delivery: 'confirmed' });
    await session.emit(turnEnded());
    await session.end();
    expect(session.events('decision-updated').map(({ delivery }) => delivery)).toEqual(['confirmed']);
  });

  it('is left for a person to settle when its turn ends', async () => {
    const session = await answered();
    await session.emit(turnEnded());
    expect(await decision(session)).toMatchObject({
      delivery: 'unknown',
      lost: { ended: 'turn', writtenAt: expect.any(String) },
    });
    expect(await unsettled(session)).toBe(1);
    await session.end();
    expect(await decision(session)).toMatchObject({ lost: { ended: 'turn' } });
  });

  it('is confirmed by a late echo', async () => {
    const session = await answered();
    await session.emit(turnEnded(), echo());
    expect(await decision(session)).toMatchObject({ delivery: 'confirmed', lost: null });
    expect(await unsettled(session)).toBe(0);
  });

  it('stays open while a subagent works, because the subagent may have asked', async () => {
    const session = await answered();
    const task = { taskId: 't1', type: 'local_agent', description: 'Look around' };
    await session.emit({ type: 'tasks', tasks: [task] }, turnEnded());
    await session.emit(echo());
    expect(session.events('decision-updated').map(({ delivery }) => delivery)).toEqual(['confirmed']);
  });
});
