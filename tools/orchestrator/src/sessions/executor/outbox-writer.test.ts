import { RequestId } from '@callboard/contract';
import { expect, it, onTestFinished, vi } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { asked, busyTestSession, type TestSession } from '../../../test/support/test-session.ts';
import type { Channel } from '../../claude/launch/channel.ts';
import { OperationalError } from '../../lib/errors.ts';
import type { OutboxBody, OutboxRow } from '../../store/records.ts';
import { createOutboxWriter } from './outbox-writer.ts';

const gone = () => new OperationalError('process_gone', 'the process no longer reads');

/** A channel to a process that the test plays. Each line is written when `onWrite.now` resolves; by default that is at once. */
function createTestChannel() {
  const written: { id: string; line: string }[] = [];
  const onWrite: { now: (id: string) => Promise<void> } = { now: async () => undefined };
  const channel: Channel = {
    async *lines() {},
    async write(line) {
      const id: string = JSON.parse(line).uuid ?? JSON.parse(line).request_id ?? JSON.parse(line).response.request_id;
      await onWrite.now(id);
      written.push({ id, line });
    },
    finish: () => undefined,
    close: () => undefined,
  };
  return { channel, onWrite, ids: () => written.map(({ id }) => id) };
}

async function setUp() {
  const session = await busyTestSession();
  let transactions = 0;
  const { transact } = session.store;
  session.store.transact = (...given) => {
    transactions++;
    return transact(...given);
  };
  const { channel, onWrite, ids } = createTestChannel();
  const errors: unknown[] = [];
  let goneTimes = 0;
  const writer = createOutboxWriter({
    store: session.store,
    edges: session.edges,
    channel,
    launchId: session.launchId(),
    onGone: () => void goneTimes++,
    onError: (error) => errors.push(error),
  });
  onTestFinished(session.store.onGiven(session.launchId(), writer.take));
  writer.nudge();
  await writer.drain(); // the rows that the launch began with
  const first = ids().length;
  const since = transactions;
  return {
    ...{ session, writer, onWrite, errors },
    ids: () => ids().slice(first),
    goneTimes: () => goneTimes,
    /** Counts the transactions since the setup, including those of the test. */
    transactions: () => transactions - since,
  };
}

/** Gives rows to the launch, in one transaction. */
async function insert({ store, edges, stageId, launchId }: TestSession, rows: Record<string, OutboxBody>) {
  await store.transact(async (tx) => {
    for (const [wireId, body] of Object.entries(rows)) {
      const row = { id: edges.newId(), stageId, launchId: launchId(), wireId, actor: null };
      await tx.outbox.insert({ ...row, body, createdAt: tx.now });
    }
  });
}
const control: OutboxBody = { kind: 'control', request: { subtype: 'interrupt' } };
const answer = (text = 'yes'): OutboxBody => ({ kind: 'answer', response: { subtype: 'success', text } });

async function rowOf(session: TestSession, wireId: string): Promise<OutboxRow> {
  const row = (await session.outbox()).find((candidate) => candidate.wireId === wireId);
  if (row === undefined) throw new Error(`no row ${wireId}`);
  return row;
}

it('writes accepted rows in order, and marks them', async () => {
  const { session, writer, ids } = await setUp();
  await insert(session, { a: answer(), b: control, c: answer() });
  await writer.drain();
  expect(ids()).toEqual(['a', 'b', 'c']);
  for (const id of ids()) expect(await rowOf(session, id)).toMatchObject({ state: 'written', writing: false });
});

it('writes nothing twice, however often it is nudged', async () => {
  const { session, writer, ids } = await setUp();
  await insert(session, { a: answer() });
  for (let n = 0; n < 5; n++) writer.nudge();
  await writer.drain();
  writer.nudge();
  await writer.drain();
  expect(ids()).toEqual(['a']);
});

it('writes one line at a time, and includes rows that arrive meanwhile', async () => {
  const { session, writer, ids, onWrite } = await setUp();
  let writing = 0;
  onWrite.now = async (id) => {
    expect(++writing).toBe(1);
    if (id === 'a') {
      await insert(session, { late: answer() });
      await insert(session, { later: answer() });
    }
    await new Promise(setImmediate);
    writing--;
  };
  await insert(session, { a: answer(), b: answer() });
  await writer.drain();
  expect(ids()).toEqual(['a', 'b', 'late', 'later']);
});

it('writes a line before any event of its transaction is emitted, without querying the store', async () => {
  const { session, writer, onWrite } = await setUp();
  const seen: string[] = [];
  onWrite.now = async (id) => void seen.push(`line ${id}`);
  onTestFinished(session.store.onEvent(({ type }) => seen.push(type)));
  const events = ['message-queued', 'message-sent'] as const;
  await session.store.transact(async (tx) => {
    for (const type of events)
      await tx.emit({ type, data: { stageId: session.stageId, messageId: 'm', text: 'x' } } as never);
    const row = { id: 'row', stageId: session.stageId, launchId: session.launchId(), wireId: 'a', actor: null };
    await tx.outbox.insert({ ...row, body: answer(), createdAt: tx.now });
    tx.afterCommit(() => seen.push('hint'));
  });
  expect(seen).toEqual(['line a', ...events, 'hint']);
  await writer.drain();
});

it('does not write a row that its own transaction made void', async () => {
  const { session, writer, ids } = await setUp();
  await session.store.transact(async (tx) => {
    for (const id of ['a', 'b']) {
      const row = { id, stageId: session.stageId, launchId: session.launchId(), wireId: id, actor: null };
      await tx.outbox.insert({ ...row, body: answer(), createdAt: tx.now });
    }
    await tx.outbox.setVoid('a', 'withdrawn');
  });
  await writer.drain();
  expect(ids()).toEqual(['b']);
});

it('marks a control request before writing it, so that a crash cannot cause a second write', async () => {
  const { session, writer, onWrite } = await setUp();
  const seen: string[] = [];
  onWrite.now = async (id) => void seen.push((await rowOf(session, id)).state);
  await insert(session, { c: control });
  await writer.drain();
  expect(seen).toEqual(['written']);
});

it('marks an answer after writing it, so that a crash can only cause a second write, never a lost one', async () => {
  const { session, writer, onWrite } = await setUp();
  const seen: [string, boolean][] = [];
  onWrite.now = async (id) => {
    const { state, writing } = await rowOf(session, id);
    seen.push([state, writing]);
  };
  await insert(session, { short: answer(), long: answer('x'.repeat(5_000)) });
  await writer.drain();
  expect(seen).toEqual([
    ['accepted', false],
    ['accepted', true], // a line that can be torn has a mark while it is being written
  ]);
  expect(await rowOf(session, 'long')).toMatchObject({ state: 'written', writing: false });
});

/** Stops timers: a mark that waits for another transaction then waits as long as the test does. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

it('keeps marks for the next transaction, and stores when each line was written', async () => {
  const { session, writer, transactions } = await setUp();
  stopTime();
  const before = session.edges.now().toISOString();
  await insert(session, { a: answer(), b: answer() });
  await until('both are written', () => writer.takesAtOnce());
  const after = session.edges.now().toISOString();
  expect(await rowOf(session, 'b')).toMatchObject({ state: 'accepted' });
  await session.store.transact(writer.markIn);
  await writer.drain();
  expect(transactions()).toBe(2);
  for (const id of ['a', 'b']) {
    const { state, writtenAt } = await rowOf(session, id);
    expect(state).toBe('written');
    expect([before, writtenAt, after]).toEqual([before, writtenAt, after].toSorted());
  }
});

it('stores a mark in its own transaction if no other one follows', async () => {
  const { session, ids } = await setUp();
  await insert(session, { a: answer() });
  await until('it is marked', async () => (await rowOf(session, 'a')).state === 'written');
  expect(ids()).toEqual(['a']);
});

it('repeats the marks of a failed transaction, and writes nothing twice meanwhile', async () => {
  const { session, writer, ids, onWrite } = await setUp();
  await insert(session, { a: answer() });
  const failing = session.store.transact(async (tx) => {
    await writer.markIn(tx);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  onWrite.now = () => Promise.reject(new Error('odd')); // makes the writer query the store
  await insert(session, { b: answer() });
  await until('b failed', () => !writer.takesAtOnce());
  onWrite.now = async () => undefined;
  writer.nudge();
  await writer.drain();
  expect(ids()).toEqual(['a', 'b']);
  expect(await rowOf(session, 'a')).toMatchObject({ state: 'written' });
});

it('writes a control request that is stored as written once, without another transaction', async () => {
  const { session, writer, ids, transactions } = await setUp();
  expect(writer.takesAtOnce()).toBe(true);
  const give = (wireId: string) =>
    session.store.transact((tx) => {
      const row = { id: wireId, stageId: session.stageId, launchId: session.launchId(), wireId, actor: null };
      return tx.outbox.insert({ ...row, state: 'written', body: control, createdAt: tx.now });
    });
  await give('c');
  await writer.drain();
  expect(transactions()).toBe(1);
  expect(ids()).toEqual(['c']);
});

it('writes a row that is stored as written in its place, even if another line came in between', async () => {
  const { session, writer, ids, onWrite } = await setUp();
  const gate = Promise.withResolvers<void>();
  onWrite.now = () => gate.promise;
  await insert(session, { a: answer() });
  await session.store.transact(async (tx) => {
    const row = { stageId: session.stageId, launchId: session.launchId(), actor: null, createdAt: tx.now };
    await tx.outbox.insert({ ...row, id: 'b', wireId: 'b', body: answer() });
    await tx.outbox.insert({ ...row, id: 'c', wireId: 'c', state: 'written', body: control });
    await tx.outbox.insert({ ...row, id: 'd', wireId: 'd', body: answer() });
  });
  gate.resolve();
  await writer.drain();
  expect(ids()).toEqual(['a', 'b', 'c', 'd']);
});

it('writes a row that is stored as written even if the line before it failed', async () => {
  const { session, writer, ids, onWrite } = await setUp();
  onWrite.now = () => Promise.reject(new Error('odd'));
  await session.store.transact(async (tx) => {
    const row = { stageId: session.stageId, launchId: session.launchId(), actor: null, createdAt: tx.now };
    await tx.outbox.insert({ ...row, id: 'a', wireId: 'a', body: answer() });
    await tx.outbox.insert({ ...row, id: 'c', wireId: 'c', state: 'written', body: control });
  });
  await writer.drain();
  onWrite.now = async () => undefined;
  writer.nudge();
  await writer.drain();
  expect(ids()).toEqual(['a', 'c']);
});

it('keeps the mark of a long line that was cut off', async () => {
  const { session, writer, onWrite } = await setUp();
  onWrite.now = () => Promise.reject(gone());
  await insert(session, { long: answer('x'.repeat(5_000)) });
  await writer.drain();
  expect(await rowOf(session, 'long')).toMatchObject({ state: 'accepted', writing: true });
});

it('marks a long line as written when it is complete, without waiting for another transaction', async () => {
  const { session } = await setUp();
  stopTime();
  await insert(session, { long: answer('x'.repeat(5_000)) });
  await until('it is marked', async () => (await rowOf(session, 'long')).state === 'written');
  expect(await rowOf(session, 'long')).toMatchObject({ writing: false });
});

it('stops at the first line that the process does not read, reports it, and leaves the other rows accepted', async () => {
  const { session, writer, ids, onWrite, goneTimes, errors } = await setUp();
  onWrite.now = async (id) => {
    if (id === 'b') throw gone();
  };
  await insert(session, { a: answer(), b: answer(), c: answer() });
  await writer.drain();
  expect(ids()).toEqual(['a']);
  expect(goneTimes()).toBe(1);
  expect(errors).toEqual([]);
  expect(await rowOf(session, 'b')).toMatchObject({ state: 'accepted' });
  expect(await rowOf(session, 'c')).toMatchObject({ state: 'accepted' });
});

it('reports any other error, and retries at the next nudge', async () => {
  const { session, writer, ids, onWrite, errors } = await setUp();
  const failure = new Error('odd');
  onWrite.now = () => Promise.reject(failure);
  await insert(session, { a: answer() });
  await writer.drain();
  expect(errors).toEqual([failure]);
  onWrite.now = async () => undefined;
  writer.nudge();
  await writer.drain();
  expect(ids()).toEqual(['a']);
});

it('keeps a row confirmed if its echo came before its mark', async () => {
  const { session, writer, onWrite } = await setUp();
  await session.tell(asked('r1'));
  onWrite.now = async (id) => {
    const { id: rowId } = await rowOf(session, id);
    await session.store.transact((tx) => tx.outbox.setConfirmed(rowId, tx.now));
  };
  await insert(session, { r1: answer() });
  await writer.drain();
  expect(await rowOf(session, 'r1')).toMatchObject({ state: 'confirmed' });
});

it('leaves a message in the queue if it returned there while it was being written', async () => {
  const { session, writer, onWrite } = await setUp();
  onWrite.now = async () => {
    await session.end();
  };
  await session.tell({
    type: 'turn-ended',
    end: { outcome: 'succeeded', message: null, durationMs: null, costUsd: null, tokens: null },
  });
  const id = await session.enqueue('one');
  writer.nudge();
  await writer.drain();
  expect((await session.queue()).map((message) => message.messageId)).toEqual([id]);
});

it('finishes the line that it is writing when it is stopped, and writes no other', async () => {
  const { session, writer, ids, onWrite } = await setUp();
  const gate = Promise.withResolvers<void>();
  let isWriting = false;
  onWrite.now = async () => {
    isWriting = true;
    await gate.promise;
  };
  await insert(session, { a: answer() });
  await until('the line is being written', () => isWriting);
  const stopped = writer.stop();
  gate.resolve();
  await stopped;
  await insert(session, { b: answer() });
  await writer.drain();
  expect(ids()).toEqual(['a']);
});

it('emits that an answer was written', async () => {
  const { session, writer } = await setUp();
  await session.tell(asked('r1'));
  const requestId = RequestId.parse('r1');
  const { store, stageId } = session;
  const stored = await store.read.requests.find(stageId, requestId);
  const { kind, toolName, toolUseId } = stored?.request ?? { kind: 'approval', toolName: '', toolUseId: '' };
  const verdict = { outcome: 'allowed', by: 'Ada', reason: null, answers: null, updatedInput: null } as const;
  const decision = {
    stageId,
    requestId,
    kind,
    toolName,
    toolUseId,
    waitedMs: 1,
    ...verdict,
    delivery: 'accepted',
    asked: 'Bash make',
    denial: null,
    lost: null,
    settlement: null,
  } as const;
  await store.transact((tx) => tx.requests.decide({ ...decision, at: tx.now }));
  await insert(session, { r1: answer() });
  await writer.drain();
  expect(session.events('decision-updated')).toMatchObject([{ requestId: 'r1', delivery: 'written' }]);
});
