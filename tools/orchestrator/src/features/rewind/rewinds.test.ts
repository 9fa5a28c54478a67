import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MessageId, type RewindBody } from '@callboard/contract';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { begun, busyTestSession, read as consumed, turnEnded, up } from '../../../test/support/test-session.ts';
import { openTestStore, sampleProject, silent } from '../../../test/support/test-store.ts';
import type { ConversationLocation } from '../../core/claude/conversation-file.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { leaveToTerminal } from '../../core/session/rewind-rules.ts';
import type { SessionChange } from '../../core/session/session-change.ts';
import { createStages } from '../../core/session/stages.ts';
import { createWorktrees } from '../../core/worktrees/worktrees.ts';
import { OperationalError } from '../../lib/errors.ts';
import { retryUntilStored } from '../../store/store.ts';
import { createSnapshotBeforeMessage, type SnapshotBeforeDeps } from './find-moment.ts';
import { createForkStage, createRewinds, type RewindsDeps } from './rewind.ts';

const CONVERSATION = 'conversation-1';

/** A stage after its first turn, with real files; the test plays Claude. */
async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const given = await openTestStore();
  const { store, platform } = given;
  const project = sampleProject({ path });
  await store.transact((tx) => tx.projects.save(project));
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const stageId = await given.addStage();
  const worktree = await worktrees.ensure(project, stageId, null);
  await store.transact(async (tx) => {
    const stage = await tx.stages.find(stageId);
    if (stage !== null) await tx.stages.remove(stageId);
  });
  const session = await busyTestSession({ worktree }, given);
  const file = (name: string) => join(worktree.path, name);
  const places = new Map<string, ConversationLocation>();
  const positionBefore = async (_id: string, messageId: string): Promise<ConversationLocation> =>
    places.get(messageId) ?? { kind: 'unknown' };
  const messages: MessageId[] = [];

  /** Ends the running turn with these files, and marks it. */
  async function endTurn(files: Record<string, string | null>): Promise<void> {
    for (const [name, content] of Object.entries(files))
      await (content === null ? rm(file(name)) : writeFile(file(name), content));
    const message = (await session.transcript()).findLast(({ kind }) => kind === 'user');
    if (message?.kind !== 'user' || message.messageId === null) throw new Error('no turn runs');
    places.set(message.messageId, { kind: 'found', at: messages.length === 0 ? null : `line-${messages.length}` });
    messages.push(message.messageId);
    await session.emit({ type: 'conversation', sessionId: CONVERSATION }, turnEnded());
    const { lastTurn, transcriptLength: place, phaseIndex } = await session.record();
    const at = lastTurn?.at ?? '';
    const { commit, tree } = await worktrees.snapshotTurn(worktree, { stageId: session.stageId, name: at });
    const mark = { at, tree, commit, place, conversationId: CONVERSATION, phaseIndex };
    await store.transact((tx) => tx.turnMarks.save(session.stageId, mark));
  }

  async function turn(text: string, files: Record<string, string | null>): Promise<void> {
    const id = await session.enqueue(text);
    if ((await session.record()).launchId === null) {
      await session.begin(id);
      await session.emit(up());
    }
    await session.emit(consumed(id), begun(id));
    await endTurn(files);
  }

  const endIfIdle = async () => {
    await session.end({ kind: 'stopped', reason: 'Ended.' });
    return true;
  };
  /** Passes on each transaction of a result that `isFull` does not refuse. */
  const create = (fields: Partial<RewindsDeps['worktrees']> = {}, isFull = () => false) => {
    const transact: typeof store.transact = async (work, options) => {
      if (isFull()) throw new OperationalError('storage_failed', 'The disk is full.');
      return store.transact(work, options);
    };
    const storing = { store: { ...store, transact }, log: silent, signal: new AbortController().signal };
    return createRewinds({
      record: (work) => retryUntilStored(storing, work, { sync: 'now' }),
      store,
      platform,
      positionBefore,
      endIfIdle,
      log: silent,
      worktrees: { ...worktrees, ...fields },
    });
  };
  const go = (n: number, body: Partial<RewindBody> = {}) => ({
    messageId: messages[n] ?? MessageId.parse('?'),
    ...body,
  });
  const at = async (name: string) => (existsSync(file(name)) ? readFile(file(name), 'utf8') : null);
  const settingsOf = async () => ({ settings: { defaults: {} }, pipelines: [], problems: [], isAgreed: true });
  const pipelinesFor = async () => ({ pipelines: [], problems: [], isAgreed: true, at: null });
  const stages = createStages({ store, worktrees, settingsOf, pipelinesFor });
  const forkStage = createForkStage({ store, worktrees, positionBefore, stages });
  return {
    ...session,
    session,
    store,
    worktrees,
    project,
    create,
    go,
    at,
    file,
    turn,
    endTurn,
    forkStage,
    messages,
    places,
    git: lab.git,
  };
}

/** Three turns: `a.txt` is made, changed and deleted; `b.txt` comes with the second. */
async function threeTurns() {
  const scene = await setUp();
  await scene.endTurn({ 'a.txt': 'one\n' });
  await scene.turn('Second.', { 'a.txt': 'two\n', 'b.txt': 'b\n' });
  await scene.turn('Third.', { 'a.txt': null });
  return scene;
}

it('tells what would change without changing anything', async () => {
  const { create, go, stageId, at, record } = await threeTurns();
  const before = await record();
  const { plan } = await create().rewind(stageId, go(1, { dryRun: true }), 'Ann');
  expect(plan).toMatchObject({
    files: { counts: { files: 2, additions: 1, deletions: 1 }, blocked: [], notKept: [], commits: 0 },
    conversation: { messages: 2, isNew: false },
    text: 'Second.',
  });
  expect(plan.files?.changes.map(({ path, status }) => `${status} ${path}`)).toEqual(['added a.txt', 'deleted b.txt']);
  expect(await at('b.txt')).toBe('b\n');
  expect(await record()).toEqual(before);
});

it('goes back with files and conversation, begins its next turn there, and undoes it until then', async () => {
  const { create, go, stageId, at, record, transcript, session, turn } = await threeTurns();
  const before = await record();
  const { session: gone } = await create().rewind(stageId, go(1), 'Ann');
  expect([await at('a.txt'), await at('b.txt')]).toEqual(['one\n', null]);
  expect(gone).toMatchObject({ state: 'ended', sessionId: null, lastTurn: { outcome: 'succeeded' } });
  const entries = await transcript();
  const second = entries.find((entry) => entry.kind === 'user' && entry.text === 'Second.');
  expect(gone.goneBack).toMatchObject([
    { from: second?.index, files: true, conversation: true, canUndo: true, by: 'Ann' },
  ]);
  expect(entries.at(-1)).toMatchObject({ kind: 'notice', code: 'gone-back' });
  expect((await record()).forkOf).toEqual({ fork: CONVERSATION, until: 'line-1' });

  await create().undo(stageId, 'Ann');
  expect([await at('a.txt'), await at('b.txt')]).toEqual([null, 'b\n']);
  const undone = await record();
  expect(undone).toMatchObject({ sessionId: CONVERSATION, forkOf: null, goneBack: [], undo: null });
  expect(undone).toMatchObject({ lastTurn: before.lastTurn, costCounted: before.costCounted });

  await create().rewind(stageId, go(1), 'Ann');
  await session.begin();
  await session.emit(up());
  await turn('Another second.', { 'a.txt': 'another\n' });
  expect((await record()).goneBack).toMatchObject([{ canUndo: false }]);
  await expect(create().undo(stageId, 'Ann')).rejects.toMatchObject({ code: 'cannot_go_back' });
  await expect(create().rewind(stageId, go(2), 'Ann')).rejects.toThrow('was taken back');
  await create().rewind(stageId, go(0), 'Ann'); // the first message
  expect([await at('a.txt'), await at('b.txt')]).toEqual([null, null]);
  expect(await record()).toMatchObject({ sessionId: null, forkOf: null });
});

it('sets only the files back, or only the conversation', async () => {
  const { create, go, stageId, at, record } = await threeTurns();
  await create().rewind(stageId, go(2, { files: true }), 'Ann');
  expect(await at('a.txt')).toBe('two\n');
  expect(await record()).toMatchObject({ sessionId: CONVERSATION, goneBack: [{ conversation: false }] });
  await create().rewind(stageId, go(1, { conversation: true }), 'Ann');
  expect(await at('a.txt')).toBe('two\n');
  expect(await record()).toMatchObject({ sessionId: null, goneBack: [{ canUndo: false }, { files: false }] });
  await create().undo(stageId, 'Ann');
  expect(await record()).toMatchObject({ sessionId: CONVERSATION, goneBack: [{ canUndo: false }] });
});

it('refuses while Claude works, for a message within a turn, and without a snapshot', async () => {
  const { create, go, stageId, session, messages, turn, transcript, store, forkStage } = await threeTurns();
  const both = create();
  await expect(both.rewind(stageId, { messageId: MessageId.parse('nobody') }, 'Ann')).rejects.toMatchObject({
    code: 'unknown_message',
  });
  await expect(both.rewind(stageId, go(1, { files: false, conversation: false }), 'Ann')).rejects.toMatchObject({
    code: 'bad_request',
  });
  const id = await session.enqueue('Fourth.');
  await session.emit(consumed(id), begun(id));
  await expect(both.rewind(stageId, go(1), 'Ann')).rejects.toMatchObject({ code: 'stage_running' });
  await session.emit(turnEnded()); // not kept: the next turn follows at once
  await turn('Fifth.', {});
  const fifth = messages.at(-1) ?? MessageId.parse('?');
  const { plan } = await both.rewind(stageId, { messageId: fifth, dryRun: true }, 'Ann');
  expect(plan).toMatchObject({ files: null, filesProblem: expect.stringContaining('were not kept') });
  await expect(both.rewind(stageId, { messageId: fifth }, 'Ann')).rejects.toThrow('were not kept');
  const fourth = (await transcript()).find((entry) => entry.kind === 'user' && entry.text === 'Fourth.');
  const fourthId = fourth?.kind === 'user' ? fourth.messageId : null;
  const { plan: other } = await both.rewind(stageId, { messageId: fourthId ?? fifth, dryRun: true }, 'Ann');
  expect(other).toMatchObject({ files: { counts: { files: 0 } }, conversation: null });
  expect(other.conversationProblem).toContain('does not have this message');

  const leave = (change: SessionChange) => leaveToTerminal(change, { since: new Date(0).toISOString(), by: 'Bob' });
  await store.transact((tx) => changeSession(tx, stageId, leave));
  await expect(both.rewind(stageId, go(1), 'Ann')).rejects.toMatchObject({ code: 'in_terminal' });
  await expect(forkStage(stageId, {})).rejects.toMatchObject({ code: 'in_terminal' });
});

/** Sends a message right after a turn, before its files were marked, and plays the turn that it begins. */
async function sendAtOnce(
  scene: Awaited<ReturnType<typeof setUp>>,
  snapshotTurn: SnapshotBeforeDeps['worktrees']['snapshotTurn'],
) {
  const { store, session, stageId, file } = scene;
  await writeFile(file('a.txt'), 'by the turn before\n');
  await session.emit({ type: 'conversation', sessionId: CONVERSATION }, turnEnded());
  const id = await session.enqueue('At once.');
  const save = createSnapshotBeforeMessage({ store, log: silent, limitMs: 60_000, worktrees: { snapshotTurn } });
  const row = (await session.outbox()).find(({ wireId }) => wireId === id);
  if (row === undefined) throw new Error('the message was not delivered');
  const until = { placed: undefined, signal: new AbortController().signal };
  await save(row, until);
  await save(row, until); // written again after a crash
  await session.emit(consumed(id), begun(id));
  await writeFile(file('a.txt'), 'by the new turn\n');
  await session.emit(turnEnded());
  const messageId = MessageId.parse(id);
  return (await scene.create().rewind(stageId, { messageId, dryRun: true }, 'Ann')).plan;
}

it('keeps the files before a message that comes at once, once', async () => {
  const scene = await setUp();
  let times = 0;
  const snapshotTurn: typeof scene.worktrees.snapshotTurn = (...given) => {
    times++;
    return scene.worktrees.snapshotTurn(...given);
  };
  const plan = await sendAtOnce(scene, snapshotTurn);
  expect(plan).toMatchObject({ filesProblem: null, files: { changes: [{ path: 'a.txt', status: 'modified' }] } });
  expect(times).toBe(1);
});

it('says why the files before a message were not kept', async () => {
  const scene = await setUp();
  const plan = await sendAtOnce(scene, () => Promise.reject(new OperationalError('worktree_failed', 'Git is broken.')));
  expect(plan).toMatchObject({ files: null, filesProblem: expect.stringContaining('Git is broken.') });
  expect(await scene.transcript()).toContainEqual(expect.objectContaining({ code: 'files-not-kept' }));
});

it('stores that it went back once the store can write again', async () => {
  const { create, go, stageId, at, record } = await threeTurns();
  let failures = 2;
  await create({}, () => failures-- > 0).rewind(stageId, go(1), 'Ann');
  expect(failures).toBe(-1);
  expect(await at('b.txt')).toBeNull();
  expect(await record()).toMatchObject({ isGoingBack: false, goneBack: [{ by: 'Ann', canUndo: true }] });
});

const never = () => new Promise<never>(() => undefined);
const KILLED = {
  'before the present files are kept': () => ({ snapshotTurn: never }),
  'when the present files are kept': (real: RewindsDeps['worktrees'], reached: () => void) => ({
    snapshotTurn: async (...args: Parameters<typeof real.snapshotTurn>) => {
      await real.snapshotTurn(...args);
      reached();
      return never();
    },
  }),
  'before the files are set': (_real: RewindsDeps['worktrees'], reached: () => void) => ({
    restore: () => {
      reached();
      return never();
    },
  }),
  'when the files are set': (real: RewindsDeps['worktrees'], reached: () => void) => ({
    restore: async (...args: Parameters<typeof real.restore>) => {
      await real.restore(...args);
      reached();
      return never();
    },
  }),
} as const;

it.each(Object.entries(KILLED))('killed %s, all is as before or all has gone back', async (moment, killing) => {
  const { create, go, stageId, at, record, worktrees, transcript } = await threeTurns();
  const isStored = moment.includes('files are set');
  const before = await transcript();
  const reached = Promise.withResolvers<void>();
  const fields = killing(worktrees, () => reached.resolve());
  if (moment.startsWith('before the present')) reached.resolve();
  void create(fields).rewind(stageId, go(1), 'Ann');
  await reached.promise;
  await expect.poll(async () => (await record()).isGoingBack).toBe(isStored);

  const after = create();
  if (isStored) {
    const refused = after.rewind(stageId, go(1), 'Ann');
    await expect(refused).rejects.toMatchObject({ code: 'cannot_go_back' });
  }
  await after.settleInterrupted();
  await after.settleInterrupted();
  const files = [await at('a.txt'), await at('b.txt')];
  const { goneBack, isGoingBack, forkOf } = await record();
  expect(isGoingBack).toBe(false);
  if (isStored) {
    expect(files).toEqual(['one\n', null]);
    expect(goneBack).toHaveLength(1);
    expect(forkOf).toMatchObject({ until: 'line-1' });
    expect((await transcript()).filter((entry) => entry.kind === 'notice' && entry.code === 'gone-back')).toHaveLength(
      1,
    );
    await after.undo(stageId, 'Ann');
  } else {
    expect(goneBack).toEqual([]);
    expect((await transcript()).slice(0, before.length)).toEqual(before);
  }
  expect([await at('a.txt'), await at('b.txt')]).toEqual([null, 'b\n']);
});

it('is as before when the files cannot be set, and says why', async () => {
  const { create, go, stageId, at, record, transcript, worktrees } = await threeTurns();
  let calls = 0;
  const failing = create({
    restore: async (...args) => {
      calls += 1;
      if (calls === 1) throw new Error('the disk is full');
      return worktrees.restore(...args);
    },
  });
  await expect(failing.rewind(stageId, go(1), 'Ann')).rejects.toThrow('The files are as they were before.');
  expect([await at('a.txt'), await at('b.txt')]).toEqual([null, 'b\n']);
  expect(await record()).toMatchObject({ isGoingBack: false, goneBack: [], sessionId: CONVERSATION });
  expect((await transcript()).at(-1)).toMatchObject({ code: 'going-back-failed', level: 'error' });
});

it('forks a stage with the conversation and the files of a moment, also one that was taken back', async () => {
  const { create, go, stageId, record, forkStage, messages, store, git, project, at } = await threeTurns();
  await create().rewind(stageId, go(1), 'Ann');
  const before = await record();
  const fork = await forkStage(stageId, { messageId: messages[2], title: 'Another way' });
  expect(fork).toMatchObject({ title: 'Another way', prompt: 'Third.', worktree: null, autoStart: false });
  expect(fork.fork).toMatchObject({ stageId, conversationId: CONVERSATION, until: 'line-2' });
  expect(await git(project.path, 'show', `${fork.origin?.tree}:a.txt`)).toBe('two');
  const refs = await git(project.path, 'for-each-ref', '--format=%(refname)', `refs/callboard/turns/${fork.id}/`);
  expect(refs).toContain('fork');
  expect(await record()).toEqual(before);
  expect(await at('a.txt')).toBe('one\n');

  const whole = await forkStage(stageId, {});
  expect(whole).toMatchObject({ fork: { conversationId: CONVERSATION, until: 'line-1', messageId: null } });
  expect(await store.read.sessions.find(whole.id)).toMatchObject({ state: 'ended', forkOf: { until: 'line-1' } });
  const first = await forkStage(stageId, { messageId: messages[0] });
  expect(first).toMatchObject({ fork: { conversationId: null, until: null }, origin: { commit: first.origin?.tree } });
  expect(await store.read.stages.list()).toHaveLength(4);
});

it('speaks of a fork where a fork is refused, and of going back where that is', async () => {
  const { create, go, stageId, forkStage, messages, places } = await threeTurns();
  places.set(messages[1] ?? '', { kind: 'compacted' });
  await expect(forkStage(stageId, { messageId: messages[1] })).rejects.toMatchObject({
    code: 'cannot_go_back',
    message: expect.stringMatching(/no longer reads what was said before\. Fork from a later message/),
  });
  await expect(create().rewind(stageId, go(1), 'Ann')).rejects.toMatchObject({
    message: expect.stringMatching(/no longer reads what was said before\. Only the files can go back\.$/),
  });
});
