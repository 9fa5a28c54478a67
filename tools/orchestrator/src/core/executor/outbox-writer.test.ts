import { RequestId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { answer, control, gone, insert, rowOf, startTestWriter } from '../../../test/support/test-outbox-writer.ts';
import { asked } from '../../../test/support/test-session.ts';
import { DatabaseUnreachable } from '../../store/storage-error.ts';

it('writes accepted rows in order, and marks them', async () => {
  const { session, writer, ids } = await startTestWriter();
  await insert(session, { a: answer(), b: control, c: answer() });
  await writer.drain();
  expect(ids()).toEqual(['a', 'b', 'c']);
  for (const id of ids()) expect(await rowOf(session, id)).toMatchObject({ state: 'written', writing: false });
});

it('writes nothing twice, however often it is scheduled', async () => {
  const { session, writer, ids } = await startTestWriter();
  await insert(session, { a: answer() });
  for (let n = 0; n < 5; n++) writer.schedule();
  await writer.drain();
  writer.schedule();
  await writer.drain();
  expect(ids()).toEqual(['a']);
});

it('writes one line at a time, and includes rows that arrive meanwhile', async () => {
  const { session, writer, ids, onWrite } = await startTestWriter();
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
  const { session, writer, onWrite } = await startTestWriter();
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
  const { session, writer, ids } = await startTestWriter();
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

it('stops at the first line that the process does not read, reports it, and leaves the other rows accepted', async () => {
  const { session, writer, ids, onWrite, goneTimes, errors } = await startTestWriter();
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

it.each(['when it is scheduled again', 'by itself'])('reports any other error, and retries %s', async (how) => {
  const { session, writer, ids, onWrite, errors } = await startTestWriter();
  const failure = new Error('odd');
  onWrite.now = () => Promise.reject(failure);
  await insert(session, { a: answer() });
  await writer.drain();
  expect(errors).toEqual([failure]);
  onWrite.now = async () => undefined;
  if (how === 'when it is scheduled again') writer.schedule();
  await until('the row is written', () => ids().length > 0);
  await writer.drain();
  expect(ids()).toEqual(['a']);
});

it('retries by itself when the store could not be read, though nothing was written meanwhile', async () => {
  const { session, writer, ids, onWrite, errors } = await startTestWriter();
  const { outbox } = session.store.read;
  const { listOf } = outbox;
  const failure = new DatabaseUnreachable('no');
  const failures = [failure, failure];
  outbox.listOf = (...given) => (failures.length > 0 ? Promise.reject(failures.pop()) : listOf(...given));
  onWrite.now = async (id) => {
    if (id === 'a') await insert(session, { late: answer() }); // the writer is busy, so it has to look for it
  };
  await insert(session, { a: answer() });
  await until('the late row is written', () => ids().length === 2);
  expect(ids()).toEqual(['a', 'late']);
  expect(errors).toEqual([failure, failure]);
  await writer.drain();
});

it('leaves a message in the queue if it returned there while it was being written', async () => {
  const { session, writer, onWrite } = await startTestWriter();
  onWrite.now = async () => {
    await session.end();
  };
  await session.emit({
    type: 'turn-ended',
    end: { outcome: 'succeeded', message: null, durationMs: null, costUsd: null, tokens: null },
  });
  const id = await session.enqueue('one');
  writer.schedule();
  await writer.drain();
  expect((await session.queue()).map((message) => message.messageId)).toEqual([id]);
});

it('finishes the line that it is writing when it is stopped, and writes no other', async () => {
  const { session, writer, ids, onWrite } = await startTestWriter();
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
  const { session, writer } = await startTestWriter();
  await session.emit(asked('r1'));
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

it('writes nothing while it may not, and everything once, in order, when it may again', async () => {
  const may = { now: true };
  const { session, writer, ids } = await startTestWriter(() => may.now);
  may.now = false;
  expect(writer.takesAtOnce()).toBe(false);
  await insert(session, { a: answer(), b: control });
  await insert(session, { c: answer() });
  await writer.drain();
  expect(ids()).toEqual([]);
  may.now = true;
  writer.schedule();
  await writer.drain();
  expect(ids()).toEqual(['a', 'b', 'c']);
});

it('stops between two lines when it may not write any more', async () => {
  const may = { now: true };
  const { session, writer, ids, onWrite } = await startTestWriter(() => may.now);
  onWrite.now = async () => {
    may.now = false;
  };
  await insert(session, { a: answer(), b: answer() });
  await writer.drain();
  expect(ids()).toEqual(['a']);
  may.now = true;
  writer.schedule();
  await writer.drain();
  expect(ids()).toEqual(['a', 'b']);
});
