import { Phase, Stage, type StageId, StageView } from '@callboard/contract';
import { sampleSession, sampleStage } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { silent, withFields } from '../../../test/support/test-store.ts';
import { OperationalError } from '../../lib/errors.ts';
import { finishStages, turnToFinish } from './pull-requests.ts';

const at = '2026-01-01T10:00:00.000Z';
const phase = (gate: 'none' | 'human') => Phase.parse({ name: 'Build', prompt: 'Build it.', gate });
const finishing = {
  way: 'merge',
  state: 'refused',
  by: 'Callboard',
  at,
  turn: at,
  order: null,
  problem: null,
} as const;

const stage = (fields: object = {}, session: object = {}) =>
  StageView.parse({
    ...sampleStage({ id: 'STAGE-1' }),
    worktree: { path: '/w', branch: 'b', base: 'a'.repeat(40) },
    column: 'review',
    ...fields,
    session: {
      ...sampleSession({ stageId: 'STAGE-1' }),
      state: 'idle',
      lastTurn: { outcome: 'succeeded', at, message: null },
      queued: 0,
      ...session,
    },
  });

it('finishes after a turn that ended well, once', () => {
  expect(turnToFinish(stage())).toBe(at);
  expect(turnToFinish(stage({ finishing }))).toBeNull();
  expect(turnToFinish(stage({ finishing: { ...finishing, turn: '2025-12-31T10:00:00.000Z' } }))).toBe(at);
  expect(turnToFinish(stage({ finishing: { ...finishing, state: 'under-way' } }))).toBe(at); // a restart in the middle
  const opening = { ...finishing, way: 'pull-request', state: 'under-way' };
  expect(turnToFinish(stage({ finishing: opening }))).toBeNull();
  expect(turnToFinish(stage({ finishing: { ...opening, turn: null } }))).toBeNull(); // a person has just ordered it
});

it('waits for the last phase, for messages, and for a person where the last gate is theirs', () => {
  expect(turnToFinish(stage({ column: 'needs-you' }))).toBeNull();
  expect(turnToFinish(stage({ worktree: null }))).toBeNull();
  expect(turnToFinish(stage({ completedAt: at }))).toBeNull();
  expect(turnToFinish(stage({}, { queued: 1 }))).toBeNull();
  const gone = { id: '1', messageId: 'm', at, by: 'Ann', from: 1, to: 2, files: true, conversation: true };
  expect(turnToFinish(stage({}, { goneBack: [{ ...gone, canUndo: true }] }))).toBeNull();
  expect(turnToFinish(stage({}, { goneBack: [{ ...gone, canUndo: false }] }))).toBe(at);
  expect(turnToFinish(stage({ pipeline: [phase('none'), phase('none')] }, { phaseIndex: 0 }))).toBeNull();
  expect(turnToFinish(stage({ pipeline: [phase('human'), phase('none')] }, { phaseIndex: 1 }))).toBe(at);
  expect(turnToFinish(stage({ pipeline: [phase('human')] }))).toBeNull();
});

/** A stage whose last turn ended well, with what its merge does; it marks the stage done and merged. */
async function toMerge(fields: object = {}) {
  const session = await busyTestSession({ worktree: { path: '/w', branch: 'b', base: 'a'.repeat(40) }, ...fields });
  await session.emit(turnEnded());
  const { store, stageId } = session;
  const merges: string[] = [];
  const merge = { commit: 'c'.repeat(40), head: 'd'.repeat(40), into: 'main', branch: 'b', previous: null };
  const merged = { ...merge, commits: 1, files: 1, at };
  const deps = {
    store,
    log: silent,
    retryMs: 1,
    projectWay: async () => 'merge' as const,
    pullRequests: { plan: () => Promise.reject(new Error('no')), open: () => Promise.reject(new Error('no')) },
    async merge(id: StageId, message: string) {
      merges.push(message);
      await store.transact(async (tx) => {
        const found = await tx.stages.find(id);
        if (found !== null) await tx.stages.update(Stage.parse({ ...found, completedAt: at, merged }));
      });
    },
  };
  const state = async () => (await store.read.stages.find(stageId))?.finishing?.state ?? null;
  return { session, parts: deps, merges, state };
}

const full = () => new OperationalError('storage_failed', 'The disk is full.');

it.each([
  ['read', 0],
  ['told that its merge begins', 1],
  ['told that its merge is done', 2],
])('finishes a stage once the store works again that could not be %s', async (_what, failing) => {
  const { parts, merges, state } = await toMerge();
  let calls = 0;
  let failures = 3;
  /** Fails some times in a row, from one of the calls on. */
  const flaky = <T>(work: () => Promise<T>): Promise<T> =>
    calls++ >= failing && failures-- > 0 ? Promise.reject(full()) : work();
  const { store } = parts;
  const failingStore = withFields(store, {
    boardOf: (id) => flaky(() => store.boardOf(id)),
    transact: (work, options) => flaky(() => store.transact(work, options)),
  });
  const stop = await finishStages({ ...parts, store: failingStore });
  await expect.poll(state).toBe('done');
  await stop();
  expect(failures).toBeLessThan(0);
  expect(merges).toHaveLength(1);
});

it('says after a crash that a merge is done which was made before it', async () => {
  const { session, parts, merges, state } = await toMerge();
  await parts.merge(session.stageId, 'before the crash');
  await session.store.transact(async (tx) => {
    const found = await tx.stages.find(session.stageId);
    if (found !== null)
      await tx.stages.update(Stage.parse({ ...found, finishing: { ...finishing, state: 'under-way' } }));
  });
  const stop = await finishStages(parts);
  await expect.poll(state).toBe('done');
  await stop();
  expect(merges).toEqual(['before the crash']);
});
