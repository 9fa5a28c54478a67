import { describe, expect, it } from 'vitest';
import { allow, decide, decision, echo, write } from '../../test/support/test-answers.ts';
import { asked, busyTestSession, type TestSession, type Told, turnEnded } from '../../test/support/test-session.ts';

const result = (fields: { isError?: boolean; text?: string; toolUseId?: string } = {}): Told => ({
  type: 'tool-result',
  ...{
    toolUseId: 'toolu_1',
    isError: false,
    text: 'made it',
    parentToolUseId: null,
    allowedBy: null,
    sandboxFailure: null,
  },
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

/** One whose request is answered; the answer is in the pipe, and nothing has come back. */
async function answered(answer: (session: TestSession) => Promise<void> = allow): Promise<TestSession> {
  const session = await busyTestSession();
  await session.tell(asked('r1'));
  await answer(session);
  await write(session);
  return session;
}

const unsettled = async ({ store, stageId }: TestSession) =>
  (await store.read.requests.listUnsettledOf(stageId)).length;

describe('an answer whose process ended before it confirmed', () => {
  it('keeps what is known of it: what was decided, when it was written, when and why the process ended', async () => {
    const session = await answered();
    await session.end();
    expect(await decision(session)).toMatchObject({
      ...{ asked: 'Bash make', outcome: 'allowed', by: 'Ada', delivery: 'unknown', settlement: null },
      lost: { writtenAt: expect.any(String), endedAt: expect.any(String), endReason: 'The process is gone.' },
    });
    expect(await unsettled(session)).toBe(1);
    expect((await session.store.board()).unsettled).toMatchObject([{ requestId: 'r1' }]);
  });

  it('does not claim to have been written where nobody watched', async () => {
    const session = await busyTestSession();
    await session.tell(asked('r1'));
    await allow(session);
    await session.end({ kind: 'died', wasWatched: false, reason: 'Gone.' });
    expect(await decision(session)).toMatchObject({ delivery: 'unknown', lost: { writtenAt: null } });
  });

  it('has counted where the result of its call was seen', async () => {
    const session = await answered();
    await session.tell(result());
    await session.end();
    expect(await decision(session)).toMatchObject({ delivery: 'confirmed', lost: null });
    expect(await unsettled(session)).toBe(0);
  });

  it.each([
    ['a call that failed, which one that was cut off does as well', { isError: true }],
    ['another call', { toolUseId: 'toolu_2' }],
  ])('is not known to have counted by the result of %s', async (_what, fields) => {
    const session = await answered();
    await session.tell(result(fields));
    await session.end();
    expect(await decision(session)).toMatchObject({ delivery: 'unknown' });
  });

  it('that was a no has counted where the result has its words, and not where the call went well', async () => {
    const refused = await answered(deny);
    await refused.tell(result({ isError: true, text: `Denied: ${REASON}` }));
    await refused.end();
    expect(await decision(refused)).toMatchObject({ delivery: 'confirmed' });
    const ran = await answered(deny);
    await ran.tell(result());
    await ran.end();
    expect(await decision(ran)).toMatchObject({ delivery: 'unknown' });
  });

  it('is settled by itself where the resumed conversation shows the result of its call', async () => {
    const session = await answered();
    await session.end();
    await session.begin();
    await session.tell(result());
    expect(await decision(session)).toMatchObject({ delivery: 'confirmed', lost: null });
    expect(session.events('decision-updated').at(-1)).toMatchObject({ delivery: 'confirmed' });
  });
});

describe('an answer whose echo was lost, in a process that lives', () => {
  it('is confirmed by the result of its call', async () => {
    const session = await answered();
    await session.tell(result());
    expect(await decision(session)).toMatchObject({ delivery: 'confirmed' });
    await session.tell(turnEnded());
    await session.end();
    expect(session.events('decision-updated').map(({ delivery }) => delivery)).toEqual(['confirmed']);
  });

  it('is for a person to settle once its turn is over', async () => {
    const session = await answered();
    await session.tell(turnEnded());
    expect(await decision(session)).toMatchObject({
      delivery: 'unknown',
      lost: { ended: 'turn', writtenAt: expect.any(String) },
    });
    expect(await unsettled(session)).toBe(1);
    await session.end();
    expect(await decision(session)).toMatchObject({ lost: { ended: 'turn' } });
  });

  it('is confirmed by an echo that comes all the same', async () => {
    const session = await answered();
    await session.tell(turnEnded(), echo());
    expect(await decision(session)).toMatchObject({ delivery: 'confirmed', lost: null });
    expect(await unsettled(session)).toBe(0);
  });

  it('waits for as long as a subagent works, which may have asked', async () => {
    const session = await answered();
    const task = { taskId: 't1', type: 'local_agent', description: 'Look around' };
    await session.tell({ type: 'tasks', tasks: [task] }, turnEnded());
    await session.tell(echo());
    expect(session.events('decision-updated').map(({ delivery }) => delivery)).toEqual(['confirmed']);
  });
});
