import { expect, it } from 'vitest';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, silent, stageId } from '../../../test/support/test-store.ts';
import type { LastingEvent } from '../../core/agent-event.ts';
import { ingestLines } from '../../core/executor/output-handler.ts';
import type { Tx } from '../store.ts';

const STAGE = stageId('S1');
const batch = { batch: true } as const;

/** A piece of work that emits a number, and records the transaction it ran in. */
function createPieces() {
  const transactions: Tx[] = [];
  return {
    count: () => new Set(transactions).size,
    piece: (index: number) => async (tx: Tx) => {
      transactions.push(tx);
      await tx.emit({ type: 'transcript-appended', data: { stageId: STAGE, index } });
      return index;
    },
  };
}

it('runs simultaneous work in few transactions, in order', async () => {
  const { store, events } = await openTestStore();
  const { piece, count } = createPieces();
  const numbers = Array.from({ length: 40 }, (_, index) => index + 1);
  expect(await Promise.all(numbers.map((n) => store.transact(piece(n), batch)))).toEqual(numbers);
  expect(count()).toBe(5);
  expect(events.map(({ data }) => 'index' in data && data.index)).toEqual(numbers);
  expect(await store.read.events.since(0, 100)).toEqual(events);
});

it('lets other transactions run in between', async () => {
  const { store } = await openTestStore();
  const { piece } = createPieces();
  const done: string[] = [];
  const many = Array.from({ length: 40 }, (_, n) => store.transact(piece(n), batch).then(() => done.push('piece')));
  const other = store.transact(async () => undefined).then(() => done.push('other'));
  await Promise.all([...many, other]);
  expect(done.indexOf('other')).toBeLessThan(10);
});

it('runs each piece alone when one fails, and keeps nothing of that one', async () => {
  const { store, events } = await openTestStore();
  const { piece } = createPieces();
  const failing = async (tx: Tx) => {
    await tx.emit({ type: 'transcript-appended', data: { stageId: STAGE, index: 99 } });
    throw new Error('no');
  };
  const done = await Promise.allSettled([piece(1), failing, piece(2)].map((work) => store.transact(work, batch)));
  expect(done).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: new Error('no') },
    { status: 'fulfilled', value: 2 },
  ]);
  expect(events.map(({ data }) => 'index' in data && data.index)).toEqual([1, 2]);
});

it('fails a piece that arrives alone, without a second run', async () => {
  const { store } = await openTestStore();
  let times = 0;
  const failing = async () => {
    times++;
    throw new Error('no');
  };
  await expect(store.transact(failing, batch)).rejects.toThrow('no');
  expect(times).toBe(1);
  expect(await store.transact(createPieces().piece(1), batch)).toBe(1);
});

it('stores the lines of each session with its offset, beside lines that cannot be applied', async () => {
  const { store, platform, stageId: id, launchId, transcript } = await busyTestSession();
  const text = (n: number): LastingEvent => ({
    type: 'block',
    apiMessageId: `msg_${n}`,
    parentToolUseId: null,
    block: { kind: 'text', text: `Text ${n}` },
  });
  const context = {
    launchId: launchId(),
    platform,
    worktree: null,
    mayHooksAllow: true,
    mayPeersWrite: false,
    sandbox: { isOn: false, autoAllows: false },
    knowsAll: true,
    onAlarm: () => undefined,
  };
  const deps = { store, log: silent, context, signal: new AbortController().signal, markIn: async () => undefined };
  const others = Array.from({ length: 5 }, () =>
    ingestLines({ ...deps, stageId: stageId('of-nobody') }, [{ events: [text(9)], end: 9 }]).catch(() => 'failed'),
  );
  const ours = ingestLines({ ...deps, stageId: id }, [
    { events: [text(1)], end: 10 },
    { events: [text(2)], end: 20 },
  ]);
  expect(await Promise.all([...others, ours])).toEqual([...others.map(() => 'failed'), undefined]);
  const texts = (await transcript()).flatMap((entry) => (entry.kind === 'text' ? [entry.text] : []));
  expect(texts).toEqual(['Text 1', 'Text 2']);
  expect((await store.read.launches.find(launchId()))?.spoolOffset).toBe(20);
});
