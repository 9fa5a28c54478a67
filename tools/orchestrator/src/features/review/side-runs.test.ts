import { column, type SideRun } from '@callboard/contract';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { begun, busyTestSession, read, turnEnded } from '../../../test/support/test-session.ts';
import type { AskSteps, FoundComment, SideRunEnd } from './ask-claude.ts';
import { type SideRuns, startSideRuns } from './review.ts';

const IDS = { base: 'a'.repeat(40), tree: 'b'.repeat(40) };
const PROCESS = { pid: 4_000_000, startTime: '1', bootId: 'b' };

const found = (line: number, text = `Line ${line} is wrong.`): FoundComment => ({
  path: 'src/a.ts',
  side: 'new',
  line,
  endLine: line,
  severity: 'high',
  text,
  version: 'c'.repeat(16),
  quote: 'x',
});
const reviewed = (...comments: FoundComment[]): SideRunEnd => ({
  state: 'done',
  costUsd: 0.25,
  summary: 'A verdict.',
  comments,
  misplaced: [],
  text: null,
});

/** Claude as the test plays it: it answers when the test says so. */
function fakeClaude() {
  const asked: { run: SideRun; steps: AskSteps; end: (end: SideRunEnd | null) => void; isStopped: () => boolean }[] =
    [];
  const ask = (run: SideRun, steps: AskSteps) => {
    const { promise, resolve } = Promise.withResolvers<SideRunEnd | null>();
    let isStopped = false;
    asked.push({ run, steps, end: resolve, isStopped: () => isStopped });
    return {
      ended: promise,
      stop() {
        isStopped = true;
        resolve(null);
      },
    };
  };
  return { ask, asked };
}

const PIPELINE = [
  { name: 'Build', prompt: 'Build it.', gate: 'none' },
  { name: 'Look', prompt: 'Look at the errors.', gate: 'none', kind: 'review' },
  { name: 'Finish', prompt: 'Finish after: {{previous.result}}', gate: 'none' },
];

async function setUp(pipeline: unknown[] = []) {
  const session = await busyTestSession({ pipeline });
  const { store, stageId } = session;
  await store.transact(async (tx) => {
    const stage = await tx.stages.find(stageId);
    if (stage !== null)
      await tx.stages.update({ ...stage, worktree: { path: '/w', branch: 'callboard/x', base: IDS.base } });
  });
  const fake = fakeClaude();
  const log = pino({ level: 'silent' });
  const ended: (string | number | null)[] = [];
  const clock = { now: session.platform.now() };
  const start = async (ask = fake.ask) => {
    const made: SideRuns = await startSideRuns({
      store,
      log,
      ask,
      maxParallel: 2,
      now: () => clock.now,
      limitCheckIntervalMs: 5,
      endLeft: async (_, process) => ended.push(process?.pid ?? null) > 0,
      resumeWith: async () => true,
      untilStored: (work) => store.transact(work),
    });
    onTestFinished(made.shutDown);
    return made;
  };
  const asked = async (count: number) => {
    await until(`question ${count}`, async () => fake.asked.length === count);
    return fake.asked[count - 1] as (typeof fake.asked)[number];
  };
  const turn = async () => {
    const row = (await session.outbox()).findLast(({ kind, state }) => kind === 'message' && state === 'accepted');
    if (row === undefined) throw new Error('Claude was given nothing');
    await session.emit(read(row.wireId), begun(row.wireId));
    return session.emit(turnEnded());
  };
  const columnNow = async () => {
    const stage = await store.read.stages.find(stageId);
    if (stage === null) throw new Error('no stage');
    return column({ stage, session: await session.record(), pending: 0, unsettled: 0, isDone: () => true });
  };
  const comments = () => store.read.comments.listOf(stageId);
  const messages = async () =>
    (await session.outbox()).flatMap(({ body }) => (body.kind === 'message' ? body.text : []));
  const times = () => fake.asked.length;
  return { ...session, ask: fake.ask, times, start, asked, turn, columnNow, comments, messages, ended, clock };
}

it('makes findings comments that everybody sees, and counts the cost for the stage', async () => {
  const here = await setUp();
  const sideRuns = await here.start();
  await here.emit(turnEnded());
  const before = (await here.record()).costUsd;
  const { id } = await sideRuns.start(here.stageId, 'review', 'Ada');
  const one = await here.asked(1);
  expect((await here.store.read.sideRuns.find(id))?.state).toBe('running');
  await one.steps.onDiff(IDS);
  one.end(reviewed(found(3), found(9)));
  await sideRuns.drain();
  expect(await here.comments()).toMatchObject([
    { author: 'Claude', isFinding: true, severity: 'high', line: 3, sentAt: null, origin: { line: 3 } },
    { line: 9 },
  ]);
  const [run] = await sideRuns.list(here.stageId);
  expect(run).toMatchObject({
    state: 'done',
    by: 'Ada',
    findings: 2,
    summary: 'A verdict.',
    diff: IDS,
    phaseIndex: null,
  });
  expect((await here.record()).costUsd).toBeCloseTo(before + 0.25);
  expect(await here.columnNow()).toBe('review');

  await sideRuns.start(here.stageId, 'review', 'Ada');
  (await here.asked(2)).end(reviewed(found(3), found(12)));
  await sideRuns.drain();
  expect((await here.comments()).map(({ line }) => line)).toEqual([3, 9, 12]);
});

it('refuses a second review of the stage, and one while Claude works', async () => {
  const here = await setUp();
  const sideRuns = await here.start();
  await expect(sideRuns.start(here.stageId, 'review', 'Ada')).rejects.toMatchObject({ code: 'stage_running' });
  await here.emit(turnEnded());
  const { id } = await sideRuns.start(here.stageId, 'review', 'Ada');
  await expect(sideRuns.start(here.stageId, 'review', 'Bob')).rejects.toMatchObject({ code: 'already_running' });
  await sideRuns.start(here.stageId, 'pull-request', 'Bob');
  await here.asked(1);
  expect(await sideRuns.stop(here.stageId, id, 'Bob')).toMatchObject({ state: 'stopped', reason: 'Stopped by Bob.' });
  await here.asked(2); // it makes room for the other one
});

it('keeps what Claude wrote for a pull request, and says why there is no answer', async () => {
  const here = await setUp();
  const sideRuns = await here.start();
  await here.emit(turnEnded());
  await sideRuns.start(here.stageId, 'pull-request', 'Ada');
  const text = { title: 'Login', body: 'A form.' };
  (await here.asked(1)).end({ state: 'done', costUsd: null, summary: null, comments: [], misplaced: [], text });
  await sideRuns.drain();
  await sideRuns.start(here.stageId, 'review', 'Ada');
  (await here.asked(2)).end({ state: 'failed', reason: 'Claude gave no answer.', costUsd: 0.5 });
  await sideRuns.drain();
  const runs = await sideRuns.list(here.stageId);
  expect(runs).toMatchObject([{ state: 'failed', reason: 'Claude gave no answer.', costUsd: 0.5 }, { text }]);
  expect(await here.comments()).toEqual([]);
  expect((await here.transcript()).at(-1)).toMatchObject({ level: 'error', code: 'review' });
});

it('goes on after a phase that found nothing, with its verdict for the next prompt', async () => {
  const here = await setUp(PIPELINE);
  const sideRuns = await here.start();
  await here.emit(turnEnded());
  const one = await here.asked(1);
  expect(one.run).toMatchObject({ phaseIndex: 1, by: null });
  expect(await here.record()).toMatchObject({ state: 'busy', phaseIndex: 1, now: { kind: 'review' } });
  expect(await here.columnNow()).toBe('running');
  one.end(reviewed());
  await sideRuns.drain();
  expect((await here.messages()).at(-1)).toBe('Finish after: A verdict.');
  expect(await here.record()).toMatchObject({ phaseIndex: 2, review: null, atGate: false });
});

it('waits for a person where a phase found something, and goes on after Claude was told', async () => {
  const here = await setUp(PIPELINE);
  const sideRuns = await here.start();
  await here.emit(turnEnded());
  (await here.asked(1)).end(reviewed(found(3)));
  await sideRuns.drain();
  expect(await here.columnNow()).toBe('needs-you');
  expect(await here.record()).toMatchObject({ atGate: true, review: { state: 'done', findings: 1 } });
  await here.enqueue('Please mend line 3.');
  await here.turn();
  expect((await here.messages()).at(-1)).toBe('Finish after: A verdict.');
  expect(here.times()).toBe(1);
});

it('lets a message wait for the review of a phase, and gives it to Claude before the next phase', async () => {
  const here = await setUp(PIPELINE);
  const sideRuns = await here.start();
  await here.emit(turnEnded());
  const one = await here.asked(1);
  await here.enqueue('And the docs.');
  expect(await here.queue()).toHaveLength(1);
  one.end(reviewed());
  await sideRuns.drain();
  expect((await here.messages()).at(-1)).toBe('And the docs.');
  await here.turn();
  expect((await here.messages()).at(-1)).toBe('Finish after: A verdict.');
});

it.each(['before Claude was asked', 'while Claude reads'])(
  'settles a review as interrupted, once, when Callboard was killed %s',
  async (moment) => {
    const here = await setUp(PIPELINE);
    const gone = moment.startsWith('before') ? null : PROCESS;
    let killed: Promise<unknown> = Promise.resolve();
    // A Callboard that is killed: nothing of it happens after this.
    const first = await here.start((run, steps) => {
      killed = gone === null ? Promise.resolve() : steps.onDiff(IDS).then(() => steps.onSpawned(gone));
      return here.ask(run, steps);
    });
    await here.emit(turnEnded());
    await here.asked(1);
    await killed;
    await first.shutDown();
    const [left] = await here.store.read.sideRuns.listIn(['running']);
    expect(left?.process ?? null).toEqual(gone);

    const second = await here.start();
    expect(here.ended).toEqual([gone?.pid ?? null]);
    expect(await second.list(here.stageId)).toMatchObject([{ state: 'interrupted' }]);
    expect(await here.columnNow()).toBe('needs-you');
    expect(await here.comments()).toEqual([]);

    await second.start(here.stageId, 'review', 'Ada');
    (await here.asked(2)).end(reviewed(found(3)));
    await second.drain();
    expect((await here.comments()).map(({ line }) => line)).toEqual([3]);
    expect((await here.record()).review).toMatchObject({ state: 'done', findings: 1 });
    const third = await here.start();
    await third.drain();
    expect(here.times()).toBe(2);
    expect(await here.comments()).toHaveLength(1);
  },
);

it('runs a review that was due when Callboard was killed', async () => {
  const here = await setUp(PIPELINE);
  await here.emit(turnEnded());
  expect(await here.record()).toMatchObject({ state: 'busy', review: { state: 'waiting' } });
  const sideRuns = await here.start();
  (await here.asked(1)).end(reviewed());
  await sideRuns.drain();
  expect((await here.record()).phaseIndex).toBe(2);
});

it('leaves the stage in review after its last phase, whatever the review found', async () => {
  const here = await setUp(PIPELINE.slice(0, 2));
  const sideRuns = await here.start();
  await here.emit(turnEnded());
  (await here.asked(1)).end(reviewed(found(3)));
  await sideRuns.drain();
  expect(await here.columnNow()).toBe('review');
});

const RESET = '2030-01-01T00:00:00.000Z';
const refused = {
  ...({ state: 'failed', reason: 'The usage limit of the account was reached.', costUsd: 0.25 } as const),
  limit: { window: 'five_hour', resetsAt: RESET },
};

it('runs the review of a phase again once its usage limit has reset, also after a restart', async () => {
  const here = await setUp(PIPELINE);
  const first = await here.start();
  await here.emit(turnEnded());
  const { run, end } = await here.asked(1);
  end(refused);
  await until('it waits', async () => (await here.record()).review?.goesOnAt != null);
  const waiting = await here.store.read.sideRuns.find(run.id);
  expect(waiting).toMatchObject({ state: 'waiting', limitWait: { window: 'five_hour', resetsAt: RESET, tries: 0 } });
  expect(await here.columnNow()).toBe('running');
  await first.shutDown();
  const next = await here.start();
  await until('it was looked at', async () => here.times() === 1);
  here.clock.now = new Date(waiting?.limitWait?.goesOnAt ?? '');
  const again = await here.asked(2);
  expect(again.run.id).toBe(run.id);
  again.end(reviewed());
  await next.drain();
  expect(await here.record()).toMatchObject({ review: null, phaseIndex: 2 });
  expect(here.times()).toBe(2);
});

it.each([
  ['a person asked beside the phases', [], true, refused],
  ['the stage waits for a person at a limit', PIPELINE, false, refused],
  ['nobody knows when it resets', PIPELINE, true, { ...refused, limit: { window: null, resetsAt: null } }],
])('fails in words at a usage limit if %s', async (_, pipeline, resumes, end: SideRunEnd) => {
  const here = await setUp(pipeline);
  await here.store.transact(async (tx) => {
    const stage = await tx.stages.find(here.stageId);
    if (stage !== null) await tx.stages.update({ ...stage, goesOnAtReset: resumes });
  });
  const sideRuns = await here.start();
  await here.emit(turnEnded());
  if (pipeline.length === 0) await sideRuns.start(here.stageId, 'review', 'Ada');
  const { run, end: answer } = await here.asked(1);
  answer(end);
  await sideRuns.drain();
  expect(await here.store.read.sideRuns.find(run.id)).toMatchObject({ state: 'failed', reason: refused.reason });
  expect(here.times()).toBe(1);
});
