import { RequestId } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { allow, decision, echo, write } from '../../../test/support/test-answers.ts';
import { asked, busyTestSession, type TestSession } from '../../../test/support/test-session.ts';
import { stageId as stageIdOf } from '../../../test/support/test-store.ts';
import { createLostAnswers } from './lost-answers.ts';

const r1 = RequestId.parse('r1');

/** A session whose process died with an answer in its pipe. */
async function setUp({ failing = false } = {}) {
  const session = await busyTestSession();
  await session.emit(asked('r1'));
  await allow(session);
  await write(session);
  await session.end();
  const sent: string[] = [];
  const answers = createLostAnswers({
    store: session.store,
    sendText: async (tx, _stageId, text) => {
      sent.push(text);
      if (failing) throw new Error('the disk is full');
      return { status: 'resumed', messageId: tx.newWireId() as never };
    },
  });
  return { session, answers, sent, stageId: session.stageId };
}
const settledBy = async (session: TestSession) => (await decision(session))?.settlement;

describe('Dismiss', () => {
  it('records who dismissed the answer, and sends nothing', async () => {
    const { session, answers, sent, stageId } = await setUp();
    const settled = await answers.dismiss(stageId, r1, 'Bo');
    expect(settled).toMatchObject({ delivery: 'unknown', settlement: { how: 'dismissed', by: 'Bo' } });
    expect(await decision(session)).toEqual(settled);
    expect(session.events('decision-updated').at(-1)).toEqual(settled);
    expect((await session.store.board()).unsettled).toEqual([]);
    expect(sent).toEqual([]);
  });

  it('changes nothing the second time', async () => {
    const { session, answers, stageId } = await setUp();
    const first = await answers.dismiss(stageId, r1, 'Bo');
    expect(await answers.dismiss(stageId, r1, 'Cy')).toEqual(first);
    expect(session.events('decision-updated').filter(({ settlement }) => settlement !== null)).toHaveLength(1);
  });
});

describe('Retry', () => {
  it('tells Claude what was decided, and settles the answer', async () => {
    const { session, answers, sent, stageId } = await setUp();
    const { decision: settled, message } = await answers.retry(stageId, r1, 'Bo');
    expect(settled).toMatchObject({ delivery: 'unknown', settlement: { how: 'retried', by: 'Bo' } });
    expect(message.status).toBe('resumed');
    expect(sent).toEqual([expect.stringContaining('toolu_1')]);
    expect(await settledBy(session)).toEqual(settled.settlement);
  });

  it('refuses a second settlement with the one that stands, whichever came first', async () => {
    const { session, answers, sent, stageId } = await setUp();
    const [first, second] = await Promise.allSettled([
      answers.retry(stageId, r1, 'Bo'),
      answers.retry(stageId, r1, 'Cy'),
    ]);
    expect(first.status).toBe('fulfilled');
    const refusal = { code: 'already_settled', message: expect.stringContaining('sent to Claude again by Bo') };
    expect(second).toMatchObject({ reason: { ...refusal, decision: { settlement: { how: 'retried', by: 'Bo' } } } });
    await expect(answers.dismiss(stageId, r1, 'Cy')).rejects.toMatchObject(refusal);
    expect(sent).toHaveLength(1);
    expect(await settledBy(session)).toMatchObject({ by: 'Bo' });
  });

  it('is refused after Dismiss', async () => {
    const { answers, sent, stageId } = await setUp();
    await answers.dismiss(stageId, r1, 'Bo');
    await expect(answers.retry(stageId, r1, 'Cy')).rejects.toMatchObject({
      code: 'already_settled',
      message: expect.stringContaining('dismissed by Bo'),
    });
    expect(sent).toEqual([]);
  });

  it('settles nothing if the message cannot be stored', async () => {
    const { session, answers, stageId } = await setUp({ failing: true });
    await expect(answers.retry(stageId, r1, 'Bo')).rejects.toThrow('the disk is full');
    expect(await settledBy(session)).toBeNull();
    expect((await session.store.board()).unsettled).toHaveLength(1);
  });
});

it('refuses an unknown request, another stage’s, an open one, and an answer whose fate is known', async () => {
  const { answers, session, stageId } = await setUp();
  const none = RequestId.parse('r9');
  await expect(answers.dismiss(stageId, none, 'Bo')).rejects.toMatchObject({ code: 'unknown_request' });
  await expect(answers.retry(stageIdOf('S9'), r1, 'Bo')).rejects.toMatchObject({ code: 'unknown_request' });
  await session.begin();
  await session.emit(asked('open'), asked('known'));
  await allow(session, 'known');
  await session.emit(echo(undefined, 'known'));
  for (const id of ['open', 'known']) {
    const refused = answers.retry(stageId, RequestId.parse(id), 'Bo');
    await expect(refused).rejects.toMatchObject({ code: 'nothing_to_settle' });
  }
});
