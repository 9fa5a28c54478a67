import { boardView, CONTINUE_MESSAGE, StageId } from '@callboard/contract';
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  asked,
  beginTestSession,
  busyTestSession,
  read,
  type TestSession,
  turnEnded,
} from '../../../test/support/test-session.ts';
import { openTestStore, sampleProject, silent } from '../../../test/support/test-store.ts';
import { beginLaunch } from '../../core/launch/begin-launch.ts';
import {
  createPauseGate,
  createStartDelays,
  listDeferred,
  planStarts,
  resumeDeferred,
  resumeDeferredWork,
  type StageGate,
  startScheduler,
} from '../../core/launch/scheduler.ts';
import { releaseScope, releaseStage } from '../../core/session/spending-limits.ts';
import { createStages } from '../../core/session/stages.ts';
import { Rejection } from '../../lib/errors.ts';
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts';
import type { Store } from '../../store/store.ts';
import { createLimits } from '../limits/limits.ts';
import { createProjects } from '../projects/projects.ts';
import { turnToFinish } from '../pull-requests/pull-requests.ts';
import { startDelays } from './pauses.ts';

const EVERYTHING = {};
const STOPPED = { kind: 'stopped', reason: 'Ended after a long time.' } as const;
const PHASES = ['Design', 'Build'].map((name) => ({ name, prompt: `${name} it`, gate: 'none' }));

/** What a start of Callboard meets. */
interface Machine {
  maxParallel?: number;
  gate?: StageGate;
  interrupt?: () => void;
}

/** The service on a store, as after a start of Callboard. A process that is asked to end its turn does so when the test says so. */
function serve(store: Store, { platform }: Pick<TestSession, 'platform'>, machine: Machine = {}) {
  const launch = { platform, dataDir: '/data' };
  const interrupted: StageId[] = [];
  const resume = {
    resumeWith: async (...[tx, stageId, message]: Parameters<Parameters<typeof createLimits>[0]['resumeWith']>) => {
      await beginLaunch(tx, launch, { stageId, actor: message.actor, message });
      return true;
    },
    repeatIn: async (...[tx, stageId]: Parameters<Parameters<typeof createLimits>[0]['repeatIn']>) =>
      void (await beginLaunch(tx, launch, { stageId, actor: null })),
  };
  const pauses = startDelays({
    store,
    log: silent,
    interrupt: async (stageId) => {
      interrupted.push(stageId);
      machine.interrupt?.();
    },
    resumeReleased: (stageIds) =>
      resumeDeferredWork({ store, log: silent, ...resume }, (one) => stageIds.has(one.stageId)),
  });
  const deps = { store, ...resume };
  const scheduler = startScheduler({
    store,
    log: silent,
    mayStart: () => true,
    holds: createStartDelays(),
    start: async () => undefined,
    maxParallel: machine.maxParallel ?? 9,
    gates: [() => machine.gate ?? (() => null)],
    waits: { isDue: () => false, resume: async () => undefined },
    deferred: { list: () => listDeferred(store.read), resume: (stageId) => resumeDeferred(deps, stageId) },
  });
  const stop = async () => {
    await pauses.stop();
    await scheduler.stop();
  };
  onTestFinished(stop);
  const drain = () => pauses.drain().then(scheduler.drain);
  return { holds: { ...pauses, drain, stop }, interrupted, limits: createLimits(deps) };
}

/** A session whose process works, and the service. */
async function setUp(fields: Record<string, unknown> = {}) {
  const given = await openTestStore();
  const session = await busyTestSession(fields, given);
  const { stageId, store } = session;
  const { projectId } = (await store.read.stages.find(stageId)) ?? { projectId: null };
  if (projectId === null) throw new Error('no stage');
  const column = async () => boardView(await store.board()).stages.find(({ id }) => id === stageId)?.column;
  return {
    ...serve(store, session),
    given,
    session,
    store,
    stageId,
    projectId,
    column,
    scope: { stageIds: [stageId] },
  };
}

/** What Claude was told, over all launches. */
const notifiedTo = async ({ transcript }: TestSession): Promise<string[]> =>
  (await transcript()).flatMap((entry) => (entry.kind === 'user' ? [entry.text] : []));

/** Claude reads its newest message and ends the turn. */
async function finish(session: TestSession): Promise<void> {
  const row = (await session.outbox()).findLast(({ kind }) => kind === 'message');
  await session.emit(read(row?.wireId ?? ''), turnEnded());
}

/** A store that is killed before it commits. */
const dying = (store: Store): Store =>
  Object.create(store, {
    transact: {
      value: (work: Parameters<Store['transact']>[0]) =>
        store.transact(async (tx) => {
          await work(tx);
          throw new Error('killed before the commit');
        }),
    },
  });

/** The same file, opened by the next Callboard. */
async function restart(session: Pick<TestSession, 'platform' | 'file'>, machine: Machine = {}) {
  const store = await openSqliteStore(session.file, session.platform, silent);
  onTestFinished(store.close);
  return { store, ...serve(store, session, machine) };
}

it('follows the newest order, for a stage, its project, or everything', async () => {
  const { holds, store, given, session, stageId, projectId, scope } = await setUp();
  const otherId = (await beginTestSession({}, given)).stageId;
  const gate = async () => {
    const { stages } = boardView(await store.board());
    const isHeld = await createPauseGate({ store })();
    return stages.flatMap((stage) => (isHeld(stage, 0) === null ? [] : [stage.id]));
  };
  await holds.put({ scope: EVERYTHING, held: true }, 'Ada');
  expect(await gate()).toEqual([stageId, otherId]);
  await holds.put({ scope, held: false }, 'Bo');
  expect(await gate()).toEqual([otherId]);
  expect(await holds.list()).toMatchObject([{ scope: {}, by: 'Ada', except: [{ stageId }] }]);
  await holds.put({ scope, held: true }, 'Bo');
  expect((await store.read.stages.find(stageId))?.heldBy).toMatchObject({ by: 'Bo' });
  expect(await gate()).toEqual([stageId, otherId]);
  await holds.put({ scope: { projectId }, held: false }, 'Bo');
  expect(await gate()).toEqual([stageId]); // what was held by name stays
  await holds.put({ scope: EVERYTHING, held: true }, 'Cy');
  expect(await gate()).toEqual([stageId, otherId]);
  await holds.put({ scope: EVERYTHING, held: false }, 'Cy');
  await holds.put({ scope, held: false }, 'Cy');
  expect(await gate()).toEqual([]);
  expect(await holds.list()).toEqual([]);
  expect(session.events('stage-updated').map(({ stage }) => stage.held)).toEqual([true, false]);
});

it('changes all stages or none', async () => {
  const { holds, store, stageId } = await setUp();
  const unknown = holds.put({ scope: { stageIds: [stageId, StageId.parse('STAGE-99')] }, held: true }, 'Ada');
  await expect(unknown).rejects.toMatchObject({ code: 'unknown_stage' });
  expect((await store.read.stages.find(stageId))?.held).toBe(false);
});

it('lets the turn finish, keeps the queue, and delivers it once when it is released', async () => {
  const { holds, interrupted, session, stageId, column, scope } = await setUp();
  await holds.put({ scope, held: true }, 'Ada');
  await session.enqueue('one');
  await finish(session);
  expect(await session.record()).toMatchObject({ state: 'idle', queued: 1, queueHeld: false, withheld: true });
  expect({ column: await column(), interrupted }).toEqual({ column: 'running', interrupted: [] });
  await session.enqueue('two');
  expect(await notifiedTo(session)).toEqual(['Do it']);
  for (let times = 0; times < 2; times++) await holds.put({ scope, held: false }, 'Ada');
  await holds.drain();
  expect(await notifiedTo(session)).toEqual(['Do it', 'one']);
  expect(await session.record()).toMatchObject({ state: 'busy', queued: 1, withheld: false });
  expect(session.events('message-sent').map((sent) => sent.stageId)).toEqual([stageId, stageId]);
});

it('calls nobody for a session at rest that has nothing to do, and needs a person after a failure as ever', async () => {
  const { holds, session, column, scope } = await setUp();
  await holds.put({ scope, held: true }, 'Ada');
  await finish(session);
  expect(await session.record()).toMatchObject({ withheld: false });
  expect(await column()).toBe('review');
  const failed = await setUp();
  await failed.holds.put({ scope: EVERYTHING, held: true }, 'Ada');
  await failed.session.enqueue('one');
  await failed.session.emit(turnEnded('failed'));
  expect(await failed.session.record()).toMatchObject({ withheld: false, queueHeld: true });
  expect(await failed.column()).toBe('needs-you');
});

it('goes on once after a release, wherever Callboard is killed', async () => {
  const { holds, session, stageId, scope } = await setUp();
  await holds.put({ scope, held: true }, 'Ada');
  await session.enqueue('one');
  await finish(session);
  // Before the release is committed.
  await expect(serve(dying(session.store), session).holds.put({ scope, held: false }, 'Ada')).rejects.toThrow('killed');
  await holds.drain();
  expect(await notifiedTo(session)).toEqual(['Do it']);
  // After it, and before anything goes on: the service that did it is dead.
  await holds.stop();
  await session.store.transact((tx) => releaseStage(tx, stageId));
  expect(await notifiedTo(session)).toEqual(['Do it']);
  const next = await restart(session);
  await next.holds.drain();
  expect(await notifiedTo(session)).toEqual(['Do it', 'one']);
  // After it went on.
  const last = await restart(session);
  await last.holds.drain();
  expect(await notifiedTo(session)).toEqual(['Do it', 'one']);
});

it('interrupts running turns if that is wished, needs nobody, and continues once before the queue', async () => {
  const { holds, interrupted, session, stageId, column } = await setUp();
  await session.enqueue('one');
  await holds.put({ scope: EVERYTHING, held: true, interrupt: true }, 'Ada');
  await holds.drain();
  expect(interrupted).toEqual([stageId]);
  await session.emit(turnEnded('interrupted'));
  expect(await session.record()).toMatchObject({ state: 'idle', withheld: true, queueHeld: false });
  expect(await column()).toBe('running');
  for (let times = 0; times < 2; times++) await holds.put({ scope: EVERYTHING, held: false }, 'Ada');
  await holds.drain();
  expect(await notifiedTo(session)).toEqual(['Do it', CONTINUE_MESSAGE]);
  await finish(session);
  expect(await notifiedTo(session)).toEqual(['Do it', CONTINUE_MESSAGE, 'one']);
});

it('remembers over a restart what it was to interrupt, and forgets it when the stage is released first', async () => {
  const { holds, session, stageId } = await setUp();
  await holds.stop(); // killed after the hold was stored, before the process was asked
  await holds.put({ scope: EVERYTHING, held: true, interrupt: true }, 'Ada');
  expect((await session.record()).holdInterrupt).toBe('asked');
  const next = await restart(session);
  await next.holds.drain();
  expect(next.interrupted).toEqual([stageId]);
  await next.holds.stop();
  await next.store.transact((tx) => releaseScope(tx, EVERYTHING));
  const last = await restart(session);
  await last.holds.drain();
  expect(last.interrupted).toEqual([]);
  expect((await last.store.read.sessions.find(stageId))?.holdInterrupt).toBeNull();
});

it('asks a process once, whatever else it tells meanwhile', async () => {
  const { holds, interrupted, session, stageId } = await setUp();
  await holds.put({ scope: EVERYTHING, held: true, interrupt: true }, 'Ada');
  await holds.drain();
  await session.enqueue('one');
  await session.emit(asked('r1'));
  await holds.drain();
  expect(interrupted).toEqual([stageId]);
});

it('goes on at once if it was released while its process ended the turn', async () => {
  const { holds, session } = await setUp();
  await holds.put({ scope: EVERYTHING, held: true, interrupt: true }, 'Ada');
  await holds.stop();
  await holds.put({ scope: EVERYTHING, held: false }, 'Ada');
  await session.emit(turnEnded('interrupted'));
  expect(await notifiedTo(session)).toEqual(['Do it', CONTINUE_MESSAGE]);
  expect(await session.record()).toMatchObject({ state: 'busy', holdInterrupt: null });
});

it.each([
  ['the conversation has the message', true, ['Do it', CONTINUE_MESSAGE]],
  ['the conversation lacks the message, which is repeated', false, ['Do it']],
])('resumes a process that died while it was to end its turn: %s', async (_, isKnown, reported) => {
  const { holds, session, column } = await setUp();
  const prompt = (await session.outbox()).find(({ kind }) => kind === 'message');
  await holds.put({ scope: EVERYTHING, held: true, interrupt: true }, 'Ada');
  await session.end(undefined, isKnown ? [prompt?.wireId ?? ''] : []);
  expect(await session.record()).toMatchObject({ state: 'ended', withheld: true });
  expect(await column()).toBe('running');
  const before = session.launchId();
  for (let times = 0; times < 2; times++) await holds.put({ scope: EVERYTHING, held: false }, 'Ada');
  await holds.drain();
  const { launchId, state } = await session.record();
  expect({ state, isNew: launchId !== before }).toEqual({ state: 'starting', isNew: true });
  expect(await notifiedTo(session)).toEqual(reported);
  const given = await session.store.read.outbox.listOf(launchId ?? before, ['accepted', 'confirmed']);
  expect(given.flatMap(({ body }) => (body.kind === 'message' ? [body.text] : []))).toEqual([reported.at(-1)]);
});

it.each(['idle', 'ended'])('begins no phase while on hold, and the next one once it is released: %s', async (state) => {
  const { holds, session, column, scope } = await setUp({ pipeline: PHASES });
  await holds.put({ scope, held: true }, 'Ada');
  await finish(session);
  if (state === 'ended') await session.end(STOPPED);
  expect(await session.record()).toMatchObject({ state, phaseIndex: 0, withheld: true });
  expect(await column()).toBe('running');
  await holds.put({ scope, held: false }, 'Ada');
  await holds.drain();
  expect(await session.record()).toMatchObject({ phaseIndex: 1, withheld: false });
  expect(await notifiedTo(session)).toEqual([
    expect.stringContaining('Design it'),
    expect.stringContaining('Build it'),
  ]);
});

it('keeps a stage from going on at the reset of a limit, and from being finished by Callboard', async () => {
  const { holds, limits, session, store, stageId } = await setUp();
  const end = {
    outcome: 'failed',
    message: 'limit',
    code: 'usage-limit',
    durationMs: 1,
    costUsd: 0,
    tokens: null,
  } as const;
  const resetsAt = '2026-01-02T00:00:00.000Z';
  const reported = { status: 'reached', window: null, resetsAt, isUsingOverage: false } as const;
  await session.emit({ type: 'usage-limits', overall: reported, windows: [] }, { type: 'turn-ended', end });
  await holds.put({ scope: EVERYTHING, held: true }, 'Ada');
  await limits.resume(stageId);
  expect(await notifiedTo(session)).toEqual(['Do it']);
  const { stages } = boardView(await store.board());
  const plan = planStarts(stages, 9, [await createPauseGate({ store })()], () => true);
  expect(plan).toMatchObject({ resume: [], holds: [{ code: 'hold', reason: 'On hold', stageIds: [stageId] }] });
  expect(stages.map(turnToFinish)).toEqual([null]);
  await limits.decide(stageId, 'now', 'Ada'); // a person's word releases it
  expect(await notifiedTo(session)).toEqual(['Do it', CONTINUE_MESSAGE]);
  expect(await holds.list()).toMatchObject([{ except: [{ stageId }] }]);
});

it('starts processes for what was released as there is room, each once, wherever Callboard is killed', async () => {
  const given = await openTestStore();
  const sessions = [
    await busyTestSession({}, given),
    await busyTestSession({}, given),
    await busyTestSession({}, given),
  ];
  const atLimit: StageGate = () => ({ code: 'usage-limit', reason: 'Usage limit reached', until: null });
  const { holds } = serve(given.store, given, { gate: atLimit });
  await holds.put({ scope: EVERYTHING, held: true }, 'Ada');
  for (const session of sessions) {
    await session.enqueue('one');
    await finish(session);
    await session.end(STOPPED); // idle for long
  }
  const starting = async ({ read: { sessions: all } }: Store) =>
    (await all.list()).filter(({ state }) => state === 'starting').length;
  await holds.put({ scope: EVERYTHING, held: false }, 'Ada');
  await holds.drain();
  expect(await starting(given.store)).toBe(0);
  await holds.stop();
  for (const maxParallel of [1, 1, 2, 9]) {
    const next = await restart(given, { maxParallel });
    await next.holds.drain();
    expect(await starting(next.store)).toBe(Math.min(maxParallel, 3));
    await next.holds.stop();
  }
  for (const session of sessions) expect(await notifiedTo(session)).toEqual(['Do it', 'one']);
});

it('asks again after 30 s when an interrupt was refused, or was confirmed and ended nothing', async () => {
  const { session, stageId, store } = await setUp();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let isRefused = true;
  const { holds, interrupted } = serve(store, session, {
    interrupt() {
      if (isRefused) throw new Rejection('not_running', 'It is not attached yet.');
    },
  });
  const times = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    await holds.drain();
    return interrupted.length;
  };
  await holds.put({ scope: { stageIds: [stageId] }, held: true, interrupt: true }, 'Ada');
  expect(await times(29_000)).toBe(1);
  isRefused = false;
  expect(await times(1_000)).toBe(2);
  expect(await times(30_000)).toBe(3);
  await session.emit(turnEnded('interrupted'));
  expect(await times(90_000)).toBe(3);
});

it('forgets the release of a project or stage that is removed', async () => {
  const given = await openTestStore();
  const { store } = given;
  const { holds } = serve(store, given);
  const { id: projectId } = sampleProject();
  const stageId = await given.addStage();
  await holds.put({ scope: EVERYTHING, held: true }, 'Ada');
  await holds.put({ scope: { stageIds: [stageId] }, held: false }, 'Ada');
  await holds.put({ scope: { projectId }, held: false }, 'Ada');
  const none = {} as never; // none is called
  await createStages({ store, worktrees: none, settingsOf: none, pipelinesFor: none }).remove(stageId);
  expect(await holds.list()).toMatchObject([{ except: [{ projectId }] }]);
  await createProjects({
    store,
    worktrees: { removeSpare: async () => undefined } as never,
    home: '/',
    dataDir: '/',
  }).remove(projectId);
  expect(await holds.list()).toMatchObject([{ scope: {}, except: [] }]);
  expect(given.events.findLast(({ type }) => type === 'holds-updated')?.data).toMatchObject({
    holds: [{ except: [] }],
  });
  await store.transact((tx) => tx.projects.save(sampleProject()));
  await given.addStage();
  const isHeld = await createPauseGate({ store })();
  expect(boardView(await store.board()).stages.map((stage) => isHeld(stage, 0)?.code)).toEqual(['hold']);
});
