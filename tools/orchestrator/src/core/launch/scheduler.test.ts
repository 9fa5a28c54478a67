import { type Column, LIMIT_DEFAULTS, LimitsView, NO_LIMITS, type SessionState, StageView } from '@callboard/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { asked, busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { openTestStore, sampleStage, silent } from '../../../test/support/test-store.ts';
import type { Store } from '../../store/store.ts';
import { createStartDelays, limitGate, memoryGate, planStarts, type StageGate, startScheduler } from './scheduler.ts';

const NO_WAITS = { isDue: () => false, resume: async () => undefined };
const AT = '2026-01-02T03:04:05.000Z';

interface Given {
  column?: Column;
  autoStart?: boolean;
  priority?: number;
  state?: SessionState;
}

function stage(id: string, { column = 'ready', autoStart = true, priority = 2, state }: Given = {}): StageView {
  const session = {
    stageId: id,
    state,
    stateSince: AT,
    mode: 'default',
    model: null,
    sessionId: null,
    launchId: null,
    startedAt: AT,
    lastTurn: null,
    lastAction: null,
    costUsd: 0,
    backgroundTasks: [],
    queued: 0,
    queueHeld: false,
  };
  return StageView.parse({
    ...sampleStage({ id, autoStart, priority }),
    column,
    session: state === undefined ? null : session,
  });
}

/** Starts a scheduler with room for one session, which is stopped at the end of the test. */
function startOn(store: Store, parts: Partial<Parameters<typeof startScheduler>[0]> = {}) {
  const scheduler = startScheduler({
    store,
    log: silent,
    maxParallel: 1,
    mayStart: () => true,
    waits: NO_WAITS,
    gates: [],
    deferred: { list: async () => [], resume: async () => undefined },
    holds: createStartDelays(),
    start: async () => undefined,
    ...parts,
  });
  onTestFinished(scheduler.stop);
  return scheduler;
}

const pickRunnable = ({ stages }: { stages: StageView[] }, maxParallel: number) =>
  planStarts(stages, maxParallel, []).start;

describe('planStarts', () => {
  it('picks ready stages that start automatically', () => {
    const stages = [
      stage('ready'),
      stage('by-hand', { autoStart: false }),
      stage('blocked', { column: 'backlog' }),
      stage('done', { column: 'done' }),
    ];
    expect(pickRunnable({ stages }, 4)).toEqual(['ready']);
  });

  it('picks the most urgent first, and the older among equals', () => {
    const stages = [stage('a', { priority: 5 }), stage('b', { priority: 0 }), stage('c', { priority: 5 }), stage('d')];
    expect(pickRunnable({ stages }, 4)).toEqual(['b', 'd', 'a', 'c']);
    expect(pickRunnable({ stages }, 2)).toEqual(['b', 'd']);
  });

  it('counts working sessions, not idle ones or ones that wait for a person', () => {
    const working = [
      stage('s', { column: 'running', state: 'starting' }),
      stage('b', { column: 'running', state: 'busy' }),
    ];
    const resting = [
      stage('w', { column: 'needs-you', state: 'waiting' }),
      stage('i', { column: 'review', state: 'idle' }),
      stage('e', { column: 'review', state: 'ended' }),
    ];
    const ready = [stage('one'), stage('two')];
    expect(pickRunnable({ stages: [...working, ...resting, ...ready] }, 3)).toEqual(['one']);
    expect(pickRunnable({ stages: [...working, ...ready] }, 1)).toEqual([]);
  });
});

const GIB = 1_073_741_824;

describe('start gates', () => {
  const refuse = (...ids: string[]): StageGate => {
    return ({ id }) => (ids.includes(id) ? { code: 'memory', reason: 'Waits for memory', until: null } : null);
  };

  it('hold a stage with its reason, and give its room to the next one', () => {
    const stages = [stage('a'), stage('b'), stage('c'), stage('d')];
    expect(planStarts(stages, 1, [() => null, refuse('a', 'c')])).toEqual({
      start: ['b'],
      resume: [],
      isAnyElsewhere: false,
      holds: [{ code: 'memory', reason: 'Waits for memory', until: null, stageIds: ['a', 'c'] }],
    });
  });

  it('count the stages that are being started, as their processes do not show yet', () => {
    const starting: number[] = [];
    const count: StageGate = (_stage, many) => {
      starting.push(many);
      return null;
    };
    planStarts([stage('s', { column: 'running', state: 'starting' }), stage('a'), stage('b')], 3, [count]);
    expect(starting).toEqual([1, 2]);
  });

  it('hold starts for memory until there is room for one more process as large as the others, and 400 MB beside it', () => {
    const held = (available: number, sizes: number[], starting = 0) =>
      memoryGate(available, sizes)(stage('a'), starting) !== null;
    expect(held(0.9 * GIB, [])).toBe(false);
    expect(held(0.9 * GIB, [], 1)).toBe(true);
    expect(held(0.6 * GIB, [])).toBe(true);
    expect(held(GIB, [0.8 * GIB, 0.7 * GIB])).toBe(true);
    expect(held(1.2 * GIB, [0.8 * GIB, 0.7 * GIB])).toBe(false);
  });

  it('are told once they hold or let go, and a stage starts when its gate opens', async () => {
    const given = await openTestStore();
    const waiting = await given.addStage({ autoStart: true });
    const machine = { available: 0 };
    const holds = createStartDelays();
    const reported = vi.fn();
    holds.onChange(reported);
    const started: string[] = [];
    const scheduler = startOn(given.store, {
      holds,
      gates: [() => memoryGate(machine.available, [])],
      start: async (stageId) => void started.push(stageId),
    });
    await scheduler.drain();
    scheduler.schedule();
    await scheduler.drain();
    expect(holds.current()).toMatchObject([{ code: 'memory', stageIds: [waiting] }]);
    expect(reported).toHaveBeenCalledTimes(1);
    expect(started).toEqual([]);
    machine.available = GIB;
    scheduler.schedule();
    await scheduler.drain();
    expect(holds.current()).toEqual([]);
    expect(started).toEqual([waiting]);
  });
});

describe('waits for a usage limit', () => {
  const resumesAt = (minute: number) => `2026-01-02T05:0${minute}:00.000Z`;
  const waiting = (id: string, minute: number, state: SessionState = 'idle') => {
    const one = stage(id, { column: 'running', state });
    if (one.session === null) throw new Error('it has a session');
    const limitWait = { since: AT, window: null, resetsAt: resumesAt(minute), goesOnAt: resumesAt(minute) };
    return { ...one, session: { ...one.session, limitWait } };
  };
  const isDue = ({ session }: StageView) => session?.limitWait != null;

  it('are over in their order, before anything new starts, and within the limit of parallel sessions', () => {
    const stages = [stage('new'), waiting('late', 2), waiting('early', 1), waiting('ended', 3, 'ended')];
    expect(planStarts(stages, 2, [], isDue)).toEqual({
      resume: ['early', 'late'],
      start: [],
      holds: [],
      isAnyElsewhere: false,
    });
    const busy = stage('busy', { column: 'running', state: 'busy' });
    expect(planStarts([busy, ...stages], 2, [], isDue).resume).toEqual(['early']);
    expect(planStarts(stages, 9, [], isDue)).toMatchObject({ resume: ['early', 'late', 'ended'], start: ['new'] });
  });

  it('hold new stages from the threshold on, and what was begun only while another limit is reached', () => {
    const view = (limits: object, settings = LIMIT_DEFAULTS) => LimitsView.parse({ limits, settings });
    const window = { name: 'five_hour', utilization: 0.93, status: 'near', resetsAt: resumesAt(9) };
    const reported = { window: 'five_hour', resetsAt: resumesAt(9), isUsingOverage: false, windows: [window], at: AT };
    const held = (given: LimitsView) => planStarts([stage('new'), waiting('old', 1)], 9, [limitGate(given, AT)], isDue);
    const near = { code: 'usage-limit', reason: 'Usage limit at 93 %', until: resumesAt(9), stageIds: ['new'] };
    expect(held(view({ ...reported, status: 'near' }))).toEqual({
      resume: ['old'],
      start: [],
      holds: [near],
      isAnyElsewhere: false,
    });
    expect(held(view({ ...reported, status: 'near' }, { ...LIMIT_DEFAULTS, holdStartsAt: 0.95 })).start).toEqual([
      'new',
    ]);
    expect(held(view({ ...reported, status: 'near' }, { ...LIMIT_DEFAULTS, holdStartsAt: null })).start).toEqual([
      'new',
    ]);
    const reached = held(view({ ...reported, status: 'reached' }, { ...LIMIT_DEFAULTS, holdStartsAt: null }));
    expect(reached).toMatchObject({ resume: [], start: [], holds: [{ reason: 'Usage limit reached' }] });
    expect(held(view({ ...reported, resetsAt: resumesAt(1), status: 'reached' })).resume).toEqual(['old']); // what it waited for
    const released = [stage('released', { column: 'running', state: 'ended' })];
    const isReleased = () => true;
    const unknown = limitGate(view({ ...reported, resetsAt: null, status: 'reached' }), AT);
    expect(planStarts(released, 9, [unknown], isReleased)).toMatchObject({
      resume: [],
      holds: [{ code: 'usage-limit' }],
    });
    const nearly = limitGate(view({ ...reported, status: 'near' }), AT);
    expect(planStarts(released, 9, [nearly], isReleased).resume).toEqual(['released']);
    expect(held(NO_LIMITS)).toMatchObject({ resume: ['old'], start: ['new'], holds: [] });
  });
});

it('reads the board when a session stops working, not at its other steps or when it resumes work', async () => {
  const given = await openTestStore();
  const session = await busyTestSession({}, given);
  await given.addStage({ autoStart: true }); // waits for room
  const { store } = session;
  const board = vi.spyOn(store, 'board');
  const scheduler = startOn(store);
  await session.emit(asked('r1'));
  await scheduler.drain();
  const before = board.mock.calls.length;
  const input = { command: 'make' };
  for (const toolUseId of ['u1', 'u2', 'u3']) {
    const block = { kind: 'tool-use', toolUseId, toolName: 'Bash', input: { ...input, toolUseId } } as const;
    await session.emit({ type: 'block', apiMessageId: 'm1', parentToolUseId: null, block });
    await session.emit({ type: 'conversation', sessionId: toolUseId });
    await scheduler.drain();
  }
  expect(session.events('session-updated').length).toBeGreaterThan(3);
  expect(board.mock.calls.length).toBe(before);
  await session.emit({ type: 'withdrawn', requestId: 'r1' });
  await scheduler.drain();
  expect(session.events('session-updated').at(-1)).toMatchObject({ state: 'busy' });
  expect(board.mock.calls.length).toBe(before);
  await session.emit(turnEnded());
  await scheduler.drain();
  expect(board.mock.calls.length).toBeGreaterThan(before);
});

it('ignores free capacity while no stage is ready, and uses it when one may be ready', async () => {
  const given = await openTestStore();
  const session = await busyTestSession({}, given);
  const { store } = session;
  const board = vi.spyOn(store, 'board');
  const started: string[] = [];
  const scheduler = startOn(store, { start: async (stageId) => void started.push(stageId) });
  await scheduler.drain();
  const before = board.mock.calls.length;
  await session.emit(asked('r1'));
  await session.emit({ type: 'withdrawn', requestId: 'r1' });
  await scheduler.drain();
  expect(board.mock.calls.length).toBe(before);
  const waiting = await given.addStage({ autoStart: true });
  await store.transact((tx) =>
    tx.emit({ type: 'stage-created', data: { stageId: waiting, stage: sampleStage({ id: waiting }) } }),
  );
  await scheduler.drain();
  expect(started).toEqual([]); // there is no room
  await session.emit(turnEnded());
  await scheduler.drain();
  expect(started).toEqual([waiting]);
});
