import { expect, it, onTestFinished, vi } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { answer, control, gone, insert, rowOf, startTestWriter } from '../../../test/support/test-outbox-writer.ts';
import { asked } from '../../../test/support/test-session.ts';

it('marks a control request before writing it, so that a crash cannot cause a second write', async () => {
  const { session, writer, onWrite } = await startTestWriter();
  const seen: string[] = [];
  onWrite.now = async (id) => void seen.push((await rowOf(session, id)).state);
  await insert(session, { c: control });
  await writer.drain();
  expect(seen).toEqual(['written']);
});

it('marks an answer after writing it, so that a crash can only cause a second write, never a lost one', async () => {
  const { session, writer, onWrite } = await startTestWriter();
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
  const { session, writer, transactions } = await startTestWriter();
  stopTime();
  const before = session.platform.now().toISOString();
  await insert(session, { a: answer(), b: answer() });
  await until('both are written', () => writer.takesAtOnce());
  const after = session.platform.now().toISOString();
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
  const { session, ids } = await startTestWriter();
  await insert(session, { a: answer() });
  await until('it is marked', async () => (await rowOf(session, 'a')).state === 'written');
  expect(ids()).toEqual(['a']);
});

it('repeats the marks of a failed transaction, and writes nothing twice meanwhile', async () => {
  const { session, writer, ids, onWrite } = await startTestWriter();
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
  writer.schedule();
  await writer.drain();
  expect(ids()).toEqual(['a', 'b']);
  expect(await rowOf(session, 'a')).toMatchObject({ state: 'written' });
});

it('writes a control request that is stored as written once, without another transaction', async () => {
  const { session, writer, ids, transactions } = await startTestWriter();
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
  const { session, writer, ids, onWrite } = await startTestWriter();
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
  const { session, writer, ids, onWrite } = await startTestWriter();
  onWrite.now = () => Promise.reject(new Error('odd'));
  await session.store.transact(async (tx) => {
    const row = { stageId: session.stageId, launchId: session.launchId(), actor: null, createdAt: tx.now };
    await tx.outbox.insert({ ...row, id: 'a', wireId: 'a', body: answer() });
    await tx.outbox.insert({ ...row, id: 'c', wireId: 'c', state: 'written', body: control });
  });
  await writer.drain();
  onWrite.now = async () => undefined;
  writer.schedule();
  await writer.drain();
  expect(ids()).toEqual(['a', 'c']);
});

it('keeps the mark of a long line that was cut off', async () => {
  const { session, writer, onWrite } = await startTestWriter();
  onWrite.now = () => Promise.reject(gone());
  await insert(session, { long: answer('x'.repeat(5_000)) });
  await writer.drain();
  expect(await rowOf(session, 'long')).toMatchObject({ state: 'accepted', writing: true });
});

it('marks a long line as written when it is complete, without waiting for another transaction', async () => {
  const { session } = await startTestWriter();
  stopTime();
  await insert(session, { long: answer('x'.repeat(5_000)) });
  await until('it is marked', async () => (await rowOf(session, 'long')).state === 'written');
  expect(await rowOf(session, 'long')).toMatchObject({ writing: false });
});

it('keeps a row confirmed if its echo came before its mark', async () => {
  const { session, writer, onWrite } = await startTestWriter();
  await session.emit(asked('r1'));
  onWrite.now = async (id) => {
    const { id: rowId } = await rowOf(session, id);
    await session.store.transact((tx) => tx.outbox.setConfirmed(rowId, tx.now));
  };
  await insert(session, { r1: answer() });
  await writer.drain();
  expect(await rowOf(session, 'r1')).toMatchObject({ state: 'confirmed' });
});
