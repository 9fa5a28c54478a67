import { once } from 'node:events';
import { FileDiff, StageDiff } from '@callboard/contract';
import { expect, it } from 'vitest';
import { busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { silent } from '../../../test/support/test-store.ts';
import { startLowPriorityWork } from '../../core/executor/low-priority-work.ts';
import { startChangeCounts } from './changes.ts';

const WORKTREE = { path: '/w', branch: 'callboard/S1', base: 'main' };
const HASH = 'a'.repeat(40);
const FILE = FileDiff.parse({
  path: 'a.txt',
  oldPath: null,
  status: 'added',
  oldMode: null,
  newMode: '100644',
  additions: 1,
  deletions: 0,
  isBinary: false,
});
const treeOf = (n: number) => String(n).padStart(40, '0');

it('counts once after each turn, and ends the running git when it is stopped', async () => {
  const session = await busyTestSession({ worktree: WORKTREE });
  let counted = 0;
  let hangs = false;
  let ended = 0;
  const seen: string[] = [];
  async function saveChanges(_project: unknown, _worktree: unknown, _turn: unknown, signal: AbortSignal) {
    counted++;
    if (hangs) {
      await once(signal, 'abort');
      ended++;
      throw new Error('git was ended');
    }
    const ends = { base: HASH, head: HASH, branch: 'callboard/S1', tree: treeOf(counted), unread: [] };
    return { commit: HASH, diff: StageDiff.parse({ ...ends, files: Array(counted).fill(FILE) }) };
  }
  const { store, platform } = session;
  const lowPriorityWork = await startLowPriorityWork({ store, platform, log: silent });
  const onDiff = async (_stageId: string, { tree }: StageDiff) => void seen.push(tree);
  const worktrees = { saveChanges, dropTurns: async () => undefined };
  const stop = await startChangeCounts({ store, worktrees, lowPriorityWork, onDiff });
  await session.emit(turnEnded());
  await expect.poll(async () => (await session.record()).changes).toMatchObject({ files: 1 });
  await expect.poll(() => seen).toEqual([treeOf(1)]);
  const mark = await store.read.turnMarks.newestOf(session.stageId);
  const { lastTurn, transcriptLength: place } = await session.record();
  const saved = { commit: HASH, place, conversationId: null, phaseIndex: 0 };
  expect(mark).toEqual({ at: lastTurn?.at, tree: treeOf(1), ...saved });
  hangs = true;
  await session.emit(turnEnded());
  await expect.poll(() => counted).toBe(2);
  stop();
  await lowPriorityWork.stop();
  expect(ended).toBe(1);
  await session.emit(turnEnded());
  expect(counted).toBe(2);
});

it('leaves nothing of a turn whose stage is deleted while its files are kept', async () => {
  const { store, platform, stageId, emit } = await busyTestSession({ worktree: WORKTREE });
  const lowPriorityWork = await startLowPriorityWork({ store, platform, log: silent });
  const ends = { base: HASH, head: HASH, branch: 'callboard/S1', tree: treeOf(1), unread: [] };
  const saved = new Set<string>();
  const worktrees = {
    async saveChanges(_project: unknown, _worktree: unknown, { name }: { name: string }) {
      await store.transact((tx) => tx.stages.remove(stageId));
      saved.add(name);
      return { commit: HASH, diff: StageDiff.parse({ ...ends, files: [] }) };
    },
    dropTurns: async (_project: unknown, _stageId: unknown, name?: string) => void saved.delete(name ?? ''),
  };
  const counted = Promise.withResolvers<void>();
  const onDiff = async () => counted.resolve();
  const stop = await startChangeCounts({ store, worktrees, lowPriorityWork, onDiff });
  await emit(turnEnded());
  await counted.promise;
  expect([...saved]).toEqual([]);
  stop();
  await lowPriorityWork.stop();
});
