import type { BoardNotices, Budget } from '@callboard/contract';
import { expect, it } from 'vitest';
import { silent } from '../../test/support/test-store.ts';
import { DatabaseUnreachable, type StorageError } from '../store/storage-error.ts';
import { createNoticeTeller } from './react-to-changes.ts';

const BUDGET: Budget = { scope: {}, usd: 5, tokens: null, spent: { usd: 1, tokens: 2 } };
const FULL: StorageError = { isDiskFull: true, isDoubtful: false, isLasting: false, text: 'the disk is full.' };

function createScene() {
  const state = {
    storageError: null as StorageError | null,
    delays: [] as Promise<void>[],
    reads: 'work' as 'work' | 'fail' | 'hang',
  };
  const told: BoardNotices[] = [];
  const notify = createNoticeTeller(
    {
      claude: {
        warnings: async () => {
          await state.delays.shift();
          return [];
        },
      },
      sandbox: { support: () => ({ state: 'untried', why: null, how: null }) },
      login: { state: () => ({ state: 'unknown', why: null, command: null }) },
      disk: { diskPauseReason: () => null },
      writes: { storageError: () => state.storageError },
      reAttaching: { storageError: () => null },
      startHolds: { current: () => [] },
      budgets: {
        list: async () => {
          if (state.reads === 'fail') throw new DatabaseUnreachable('it is gone');
          if (state.reads === 'hang') await new Promise(() => undefined);
          return [BUDGET];
        },
      },
    },
    (notices) => told.push(notices),
    silent,
  );
  return { state, told, notify, warnings: () => told.map(({ warnings }) => warnings.length) };
}

it('tells a failing store even if it can write again before the warnings are read', async () => {
  const { state, told, notify, warnings } = createScene();
  const read = Promise.withResolvers<void>();
  state.delays = [read.promise];
  state.storageError = FULL;
  notify();
  state.storageError = null;
  read.resolve();
  await expect.poll(warnings).toEqual([1]);
  expect(told[0]?.warnings).toEqual([expect.stringContaining('Nothing can be stored: the disk is full.')]);
});

it('promises to go on only where that can happen', async () => {
  const { state, told, notify } = createScene();
  state.storageError = FULL;
  notify();
  state.storageError = { ...FULL, isLasting: true, text: 'the database was written by a newer Callboard.' };
  notify();
  await expect
    .poll(() => told.map(({ warnings }) => warnings))
    .toEqual([
      ['Nothing can be stored: the disk is full. Callboard continues as soon as it can write.'],
      ['Nothing can be stored: the database was written by a newer Callboard.'],
    ]);
});

it('tells the newest state last, even if its warnings are read first', async () => {
  const { state, notify, warnings } = createScene();
  const slow = Promise.withResolvers<void>();
  state.delays = [slow.promise];
  state.storageError = FULL;
  notify();
  state.storageError = null;
  notify();
  slow.resolve();
  await expect.poll(warnings).toEqual([1, 0]);
});

it.each(['fail', 'hang'] as const)('tells that a shared store is out of reach, whose reads %s then', async (reads) => {
  const { state, told, notify } = createScene();
  notify();
  await expect.poll(() => told.length).toBe(1);
  state.reads = reads;
  state.storageError = FULL;
  notify();
  await expect.poll(() => told.length).toBe(2);
  expect(told[1]).toMatchObject({ warnings: [expect.stringContaining('Nothing can be stored')], budgets: [BUDGET] });
});
