import { RequestId } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { answerRow, decision } from '../../../test/support/test-answers.ts';
import { asked, busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, silent, withFields } from '../../../test/support/test-store.ts';
import type { GivenAnswer } from '../../store/ports/session-port.ts';
import type { Store } from '../../store/store.ts';
import { createApprovalService, type DelayedAnswers, startDelayedAnswers, startTimeLimits } from './approvals.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const r1 = RequestId.parse('r1');
const DELAY_MS = 2_000;
const DAY = 24 * 60 * 60_000;
const allowed: GivenAnswer = { command: 'approve', body: { requestId: r1, decision: 'allow' } };
const denied: GivenAnswer = { command: 'approve', body: { requestId: r1, decision: 'deny', reason: 'No.' } };

/** A session with the open request `r1`, and Callboard, which a test can kill and start again. */
async function setUp() {
  const clocks = setClocks();
  const test = await openTestStore(clocks.platform);
  const session = await busyTestSession({}, test);
  await session.emit(asked('r1'));
  const { stageId } = session;
  let held: DelayedAnswers;
  async function start(store: Store = test.store) {
    held = await startDelayedAnswers({
      store,
      platform: clocks.platform,
      log: silent,
      delayMs: DELAY_MS,
    });
    onTestFinished(held.stop);
  }
  await start();
  const approvals = createApprovalService({ store: test.store, confirmationMs: 0 });
  return {
    ...clocks,
    session,
    stageId,
    approvals,
    start,
    store: test.store,
    hold: (given: GivenAnswer = allowed, actor = 'Ada') => held.hold(stageId, given, actor),
    withdraw: (actor = 'Ada') => held.withdraw({ requestId: r1 }, actor),
    /** Ends Callboard as a kill does: what is not stored is gone. */
    kill: () => held.stop(),
    answers: async () => (await session.outbox()).filter(({ kind, wireId }) => kind === 'answer' && wireId === 'r1'),
    told: () => session.events('answer-held').map(({ held }) => held),
    reads: async () => (await session.pending())[0]?.held,
  };
}

it('keeps an answer back for two seconds, and sends it once', async () => {
  const { hold, pass, answers, session, told, reads, stageId } = await setUp();
  const until = '2026-01-02T03:04:07.000Z';
  expect(await hold()).toEqual({ heldUntil: until });
  expect(await reads()).toEqual({ by: 'Ada', outcome: 'allowed', until });
  await pass(DELAY_MS - 1);
  expect(await answers()).toEqual([]);
  await pass(1);
  await vi.waitFor(async () => expect(await answers()).toHaveLength(1));
  expect(await decision(session)).toMatchObject({
    stageId,
    outcome: 'allowed',
    by: 'Ada',
    at: until,
    waitedMs: DELAY_MS,
  });
  expect(told()).toEqual([{ by: 'Ada', outcome: 'allowed', until }]);
  await pass(DAY);
  expect(await answers()).toHaveLength(1);
});

it('stores where an answer was given, with one that is held back too, and knows the same one from another device', async () => {
  const { hold, pass, session } = await setUp();
  const { heldUntil } = await hold({ ...allowed, device: 'Chrome on Android' });
  expect(await hold({ ...allowed, device: 'Terminal on desk' })).toEqual({ heldUntil });
  await pass(DELAY_MS);
  await vi.waitFor(async () =>
    expect(await decision(session)).toMatchObject({ by: 'Ada', device: 'Chrome on Android' }),
  );
});

it('never sends what was taken back; afterwards the request is open to any answer', async () => {
  const { hold, withdraw, pass, answers, told } = await setUp();
  await hold();
  expect(await withdraw()).toMatchObject({ requestId: r1 });
  expect(told().at(-1)).toBeNull();
  expect(await withdraw()).not.toHaveProperty('held'); // its reply may be lost
  await pass(DAY);
  expect(await answers()).toEqual([]);
  await hold(denied, 'Bo');
  await pass(DELAY_MS);
  await vi.waitFor(async () => expect(await answers()).toMatchObject([{ actor: 'Bo' }]));
});

it('an answer held again has its full time again', async () => {
  const { hold, withdraw, pass, session } = await setUp();
  await hold();
  await pass(1_500);
  await withdraw();
  await hold(denied);
  await pass(1_999);
  expect(await decision(session)).toBeNull();
  await pass(1);
  await vi.waitFor(async () => expect(await decision(session)).toMatchObject({ outcome: 'denied', reason: 'No.' }));
});

it('reserves the request: every other answer is refused, and names who is answering', async () => {
  const { hold, withdraw, approvals, stageId, answers, pass } = await setUp();
  const { heldUntil } = await hold();
  const refused = { code: 'answer_held', message: expect.stringContaining('Ada is answering this request') };
  const answer = { requestId: r1, decision: 'deny' } as const;
  await expect(approvals.approve(stageId, answer, { name: 'Bo' })).rejects.toMatchObject(refused);
  await expect(approvals.approve(stageId, answer, { name: 'Ada' })).rejects.toMatchObject(refused);
  await expect(hold(allowed, 'Bo')).rejects.toMatchObject(refused);
  await expect(hold(denied)).rejects.toMatchObject(refused);
  await expect(withdraw('Bo')).rejects.toMatchObject(refused);
  await pass(500);
  expect(await hold()).toEqual({ heldUntil }); // the same once more
  expect(await answers()).toEqual([]);
});

it('cannot be taken back once it was sent', async () => {
  const { hold, withdraw, pass, session } = await setUp();
  await hold();
  await pass(DELAY_MS);
  await vi.waitFor(async () => expect(await decision(session)).not.toBeNull());
  await expect(withdraw()).rejects.toMatchObject({
    code: 'already_decided',
    decision: { outcome: 'allowed', by: 'Ada' },
  });
  await expect(hold()).rejects.toMatchObject({ code: 'already_decided' });
});

it('refuses at once what cannot be sent', async () => {
  const { hold, told } = await setUp();
  const body = { requestId: r1, answers: { 'Which?': 'A' } };
  await expect(hold({ command: 'answer', body })).rejects.toMatchObject({ code: 'wrong_kind' });
  await expect(
    hold({ command: 'approve', body: { requestId: RequestId.parse('r9'), decision: 'allow' } }),
  ).rejects.toMatchObject({ code: 'unknown_request' });
  expect(told()).toEqual([]);
});

it('closes a request that is withdrawn meanwhile, sends nothing, and says so', async () => {
  const { hold, withdraw, pass, answers, session } = await setUp();
  await hold();
  await session.emit({ type: 'withdrawn', requestId: 'r1' });
  expect(await decision(session)).toMatchObject({
    outcome: 'closed',
    reason: expect.stringContaining('Ada had just answered it'),
  });
  await pass(DAY);
  expect(await answers()).toEqual([]);
  await expect(withdraw()).rejects.toMatchObject({ code: 'request_closed', decision: { outcome: 'closed' } });
});

it('a time limit that is reached meanwhile denies only once the answer was taken back', async () => {
  const { hold, withdraw, pass, session, platform, approvals, stageId } = await setUp();
  const limited = await session.store.transact(async (tx) => {
    const [request] = await tx.requests.listOpenOf(stageId);
    if (request === undefined) throw new Error('no request');
    const expiresAt = new Date(Date.parse(request.createdAt) + 1_000).toISOString();
    return withFields(tx.requests, { listOpen: async () => [{ ...request, expiresAt }] });
  });
  const store = withFields(session.store, { read: withFields(session.store.read, { requests: limited }) });
  const limits = await startTimeLimits({ store, platform, log: silent, expire: approvals.expire });
  onTestFinished(limits.stop);
  await hold();
  await pass(1_500);
  await withdraw();
  expect(await decision(session)).toBeNull();
  await pass(5_000);
  await vi.waitFor(async () => expect(await decision(session)).toMatchObject({ outcome: 'timed-out' }));
});

it.each([DAY, -DAY])('waits equally long when the wall clock jumps by %i ms', async (jumpMs) => {
  const { hold, pass, jump, answers } = await setUp();
  await hold();
  jump(jumpMs);
  await pass(DELAY_MS - 1);
  expect(await answers()).toEqual([]);
  await pass(1);
  await vi.waitFor(async () => expect(await answers()).toHaveLength(1));
});

it.each([
  ['right after it was stored', 1_000, 0],
  ['and started only after its time', DAY, 1],
])('killed %s: it is sent once, when its time is over or at the start', async (_when, awayMs, atStart) => {
  const { hold, kill, start, pass, answers, session } = await setUp();
  await hold();
  kill();
  await pass(awayMs);
  expect(await answers()).toEqual([]);
  await start();
  expect(await answers()).toHaveLength(atStart);
  await pass(DELAY_MS);
  await vi.waitFor(async () => expect(await answers()).toHaveLength(1));
  expect(await decision(session)).toMatchObject({ by: 'Ada', outcome: 'allowed' });
  kill();
  await start(); // after it was sent
  await pass(DAY);
  expect(await answers()).toHaveLength(1);
});

it('killed after it was taken back: it is never sent', async () => {
  const { hold, withdraw, kill, start, pass, answers, reads } = await setUp();
  await hold();
  await withdraw();
  kill();
  await pass(DAY);
  await start();
  await pass(DAY);
  expect(await answers()).toEqual([]);
  expect(await reads()).toBeUndefined();
});

it('killed within the transaction that sends it: nothing of it is stored, and the next start sends it', async () => {
  const { hold, kill, start, pass, answers, session, store } = await setUp();
  await hold();
  kill();
  const dying = withFields(store, {
    transact: (work, ...options) =>
      store.transact(
        async (tx) => {
          await work(tx);
          throw new Error('killed before the commit');
        },
        ...options,
      ),
  });
  await pass(DAY);
  await start(dying);
  expect(await decision(session)).toBeNull();
  kill();
  expect(await answers()).toEqual([]);
  await start();
  expect(await answers()).toHaveLength(1);
  expect(await answerRow(session)).toMatchObject({ actor: 'Ada' });
});

it('tries again while the store fails', async () => {
  const { hold, kill, start, pass, answers, store } = await setUp();
  let fails = 2;
  const failing = withFields(store, {
    transact: (work, ...options) => {
      if (fails-- > 0) throw new Error('the disk is full');
      return store.transact(work, ...options);
    },
  });
  await hold();
  kill();
  await pass(DAY);
  await start(failing);
  expect(await answers()).toEqual([]);
  await pass(1_000);
  await pass(1_000);
  await vi.waitFor(async () => expect(await answers()).toHaveLength(1));
});

it('opens a request again whose answer this release refuses', async () => {
  const { hold, kill, start, pass, answers, stageId, store, reads, told } = await setUp();
  await hold();
  kill();
  await store.transact(async (tx) => {
    const pause = (await tx.requests.find(stageId, r1))?.hold;
    if (pause == null) throw new Error('nothing is held');
    const given: GivenAnswer = { command: 'answer', body: { requestId: r1, answers: { 'Which?': 'A' } } };
    await tx.requests.hold({ stageId, requestId: r1 }, { ...pause, given });
  });
  await pass(DAY);
  await start();
  expect(await reads()).toBeUndefined();
  expect(told().at(-1)).toBeNull();
  expect(await answers()).toEqual([]);
});
