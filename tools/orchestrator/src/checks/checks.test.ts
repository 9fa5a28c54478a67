import { column, type StageId, WorktreeCommand } from '@callboard/contract';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../../../test-support/until.ts';
import { begun, busyTestSession, read, type TestSession, turnEnded } from '../../test/support/test-session.ts';
import { changeSession } from '../domain/change-session.ts';
import { createBell } from '../lib/bell.ts';
import { type Checks, startChecks } from './checks.ts';
import { type CheckCommands, plainTail } from './run-check.ts';

type Ended = WorktreeCommand;

const AT = '2026-01-01T10:00:00.000Z';
const commandId = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

/** A runner of commands that ends them when the test says so. */
function fakeCommands() {
  const started: { id: string; command: string; end: (ended: Partial<Ended>) => void }[] = [];
  const outputs = new Map<string, string>();
  const commands: CheckCommands = {
    async start({ stageId, command, kind, name, by }) {
      const id = commandId(started.length + 1);
      const running = WorktreeCommand.parse({
        ...{ id, stageId, kind, name, command, by, attempt: 1, state: 'running', exitCode: null, reason: null },
        ...{ isolation: { level: 'none', reason: null }, startedAt: AT, endedAt: null },
      });
      const { promise, resolve } = Promise.withResolvers<Ended>();
      const ended = { ...running, state: 'passed' as const, exitCode: 0, endedAt: AT };
      started.push({ ...{ id, command }, end: (how) => resolve({ ...ended, ...how }) });
      return { command: running, ended: promise };
    },
    async stop(_, id) {
      const one = started.find((found) => found.id === id);
      if (one === undefined) throw new Error('no such command');
      one.end({ state: 'stopped', exitCode: null, reason: 'Stopped.' });
      return Promise.reject(new Error('nobody reads it'));
    },
    tail: async ({ id }) => outputs.get(id) ?? 'output\n',
  };
  return { commands, started, outputs };
}

const PIPELINE = [
  { name: 'Build', prompt: 'Build it.', gate: { check: { command: 'npm test', timeLimit: 60, attempts: 3 } } },
  { name: 'Finish', prompt: 'Finish after: {{check.output}}', gate: 'none' },
];

const FAILED = { state: 'failed', exitCode: 1 } as const;

async function setUp(pipeline: unknown[] = PIPELINE) {
  const session = await busyTestSession({ pipeline });
  const { store, stageId } = session;
  const fake = fakeCommands();
  const resumed: string[] = [];
  const log = pino({ level: 'silent' });
  let checks: Checks | null = null;
  const start = async (commands = fake.commands, maxParallel = 2) => {
    const made = await startChecks({
      ...{ store, log, commands, maxParallel, outboxBell: createBell<StageId>() },
      resumeWith: async (_tx, _stageId, row) => resumed.push(row.body.text) > 0,
      untilStored: (work) => store.transact(work),
    });
    checks = made;
    onTestFinished(made.stop);
    return made;
  };
  const running = async (count: number) => {
    await until(`command ${count}`, async () => fake.started.length === count);
    return fake.started[count - 1] as (typeof fake.started)[number];
  };
  /** Lets Claude read the message that it was given, and end its turn. */
  const turn = async () => {
    const row = (await session.outbox()).findLast(({ kind, state }) => kind === 'message' && state === 'accepted');
    if (row === undefined) throw new Error('Claude was given nothing');
    await session.tell(read(row.wireId), begun(row.wireId));
    return session.tell(turnEnded());
  };
  const messages = async () =>
    (await session.outbox()).flatMap(({ body }) => (body.kind === 'message' ? body.text : []));
  const columnNow = async () => {
    const stage = await store.read.stages.find(stageId);
    if (stage === null) throw new Error('no stage');
    return column({ stage, session: await session.record(), pending: 0, unsettled: 0, isDone: () => true });
  };
  const state = async () => (await session.record()).check?.state;
  const drained = () => checks?.drain();
  return { session, store, stageId, ...fake, start, running, turn, messages, columnNow, state, resumed, drained };
}

const settled = (session: TestSession, wanted: string) =>
  until(`a check that is ${wanted}`, async () => (await session.record()).check?.state === wanted);

it('runs the check when the phase’s turn has ended, and begins the next phase when it passes', async () => {
  const { session, start, running, columnNow, messages } = await setUp();
  await start();
  expect(await session.tell(turnEnded())).toMatchObject({ state: 'busy', atGate: false, check: { state: 'waiting' } });
  const command = await running(1);
  await settled(session, 'running');
  expect(command).toMatchObject({ command: 'npm test' });
  expect(await columnNow()).toBe('running');
  expect(await session.record()).toMatchObject({ now: { kind: 'check', command: 'npm test' }, turnRunning: false });
  command.end({});
  await until('the next phase', async () => (await session.record()).phaseIndex === 1);
  expect((await messages()).at(-1)).toBe('Finish after: output');
  expect(await session.record()).toMatchObject({ state: 'busy', check: null, now: { kind: 'thinking' } });
});

it('sends each failure to Claude once, and needs a person when it has failed as often as it may', async () => {
  const { session, start, running, turn, messages, columnNow, outputs, state } = await setUp();
  await start();
  await session.tell(turnEnded());
  outputs.set(commandId(1), '\u001b[31m1 test failed\u001b[0m\n```\n');
  (await running(1)).end(FAILED);
  await settled(session, 'failed');
  expect(await session.record()).toMatchObject({ state: 'busy', check: { failures: 1, attempts: 3 } });
  const told = (await messages()).at(-1) ?? '';
  expect(told).toContain('````text\n1 test failed\n```\n````');
  expect(told).toContain('This command ended with exit code 1:\n\n````sh\nnpm test\n````');
  await turn();
  (await running(2)).end({ state: 'timed-out', exitCode: null, reason: 'Too long.' });
  await settled(session, 'timed-out');
  expect((await messages()).at(-1)).toContain('did not end within a minute');
  await turn();
  (await running(3)).end(FAILED);
  await until('a person', async () => (await columnNow()) === 'needs-you');
  expect(await state()).toBe('failed');
  expect(await session.record()).toMatchObject({ atGate: true, state: 'idle', check: { failures: 3 } });
  expect((await messages()).filter((text) => text.startsWith('The check of'))).toHaveLength(2);
});

it('runs again, sends the failure once more, and gives all attempts again after a message of a person', async () => {
  const once = [{ ...PIPELINE[0], gate: { check: { command: 'npm test', attempts: 1 } } }, PIPELINE[1]];
  const { session, start, running, turn, messages, stageId, columnNow } = await setUp(once);
  const checks = await start();
  await expect(checks.runAgain(stageId, 'Ada')).rejects.toMatchObject({ code: 'already_running' });
  await session.tell(turnEnded());
  (await running(1)).end(FAILED);
  await until('a person', async () => (await columnNow()) === 'needs-you');
  await checks.runAgain(stageId, 'Ada');
  await expect(checks.runAgain(stageId, 'Ada')).rejects.toMatchObject({ code: 'already_running' });
  (await running(2)).end(FAILED);
  await until('the second failure', async () => (await session.record()).check?.failures === 2);
  expect(await columnNow()).toBe('needs-you');
  await checks.sendAgain(stageId, 'Ada');
  expect((await messages()).filter((text) => text.startsWith('The check of'))).toHaveLength(1);
  expect(await columnNow()).toBe('running');
  await turn();
  (await running(3)).end(FAILED);
  await until('the third failure', async () => (await session.record()).check?.failures === 3);
  await session.enqueue('Look at the fixture');
  expect(await session.record()).toMatchObject({ check: { failures: 0 }, state: 'busy' });
  await turn();
  (await running(4)).end({});
  await until('the next phase', async () => (await session.record()).phaseIndex === 1);
  const runs = await checks.list(stageId);
  expect(runs.map(({ state, by }) => [state, by])).toEqual([
    ['passed', null],
    ['failed', null],
    ['failed', 'Ada'],
    ['failed', null],
  ]);
  expect(runs[0]).not.toHaveProperty('output');
});

it('lets a message wait for the result, and checks again after it', async () => {
  const { session, start, running, turn, messages } = await setUp();
  await start();
  await session.tell(turnEnded());
  const first = await running(1);
  await session.enqueue('Also rename it');
  expect(await session.record()).toMatchObject({ queued: 1, check: { state: 'running' } });
  first.end({});
  await settled(session, 'passed');
  expect(await session.record()).toMatchObject({ queued: 0, phaseIndex: 0, state: 'busy' });
  expect((await messages()).at(-1)).toBe('Also rename it');
  await turn();
  (await running(2)).end({});
  await until('the next phase', async () => (await session.record()).phaseIndex === 1);
});

it('tells a failure before the messages that waited', async () => {
  const { session, start, running, turn, messages } = await setUp();
  await start();
  await session.tell(turnEnded());
  const first = await running(1);
  await session.enqueue('Also rename it');
  first.end(FAILED);
  await settled(session, 'failed');
  const isGiven = async (text: string) => (await messages()).some((message) => message.includes(text));
  expect(await isGiven('The check of the phase "Build" did not pass')).toBe(true);
  expect(await isGiven('Also rename it')).toBe(false);
  await turn();
  expect(await isGiven('Also rename it')).toBe(true);
});

it('stops for a person, who then decides', async () => {
  const { session, start, running, stageId, columnNow, state } = await setUp();
  const checks = await start();
  expect(await checks.stopOf(stageId, 'Ada')).toBe(false);
  await session.tell(turnEnded());
  await running(1);
  await settled(session, 'running');
  expect(await checks.stopOf(stageId, 'Ada')).toBe(true);
  expect(await state()).toBe('stopped');
  expect(await columnNow()).toBe('needs-you');
  await checks.drain();
  expect(await checks.list(stageId)).toMatchObject([{ state: 'stopped', reason: 'Stopped by Ada.' }]);
  await expect(checks.sendAgain(stageId, 'Ada')).rejects.toMatchObject({ code: 'no_check' });
});

it('needs a person when it cannot be run, and says why', async () => {
  const { session, start, commands, columnNow } = await setUp();
  const broken: CheckCommands = { ...commands, start: () => Promise.reject(new Error('no shell')) };
  await start(broken);
  await session.tell(turnEnded());
  await settled(session, 'not-started');
  expect(await columnNow()).toBe('needs-you');
  expect((await session.transcript()).at(-1)).toMatchObject({
    code: 'check',
    text: expect.stringContaining('no shell'),
  });
});

it('has no check after a turn that did not end well', async () => {
  const { session, start, started } = await setUp();
  await start();
  await session.tell(turnEnded('failed'));
  expect(await session.record()).toMatchObject({ check: null });
  expect(started).toEqual([]);
});

it('stops with an alarm', async () => {
  const { session, start, running, state, columnNow } = await setUp();
  await start();
  await session.tell(turnEnded());
  await running(1);
  await settled(session, 'running');
  await session.tell({ type: 'forged-line' });
  expect(await state()).toBe('stopped');
  expect(await columnNow()).toBe('needs-you');
});

it('goes on with an ended process: its session is resumed for what follows', async () => {
  const { session, start, running, resumed } = await setUp();
  await start();
  await session.tell(turnEnded());
  const command = await running(1);
  await session.end();
  expect(await session.record()).toMatchObject({ state: 'busy', launchId: null, lastTurn: { outcome: 'succeeded' } });
  command.end(FAILED);
  await until('the message', async () => resumed.length === 1);
  expect(resumed[0]).toContain('did not pass');
});

/** How many writes of a check are stored before Callboard is killed: the claim, its command, and the result with what follows. */
const STORED = { due: 0, claimed: 1, running: 2, ended: 2, told: 3, passed: 3 } as const;

it.each(['due', 'claimed', 'running', 'ended', 'told', 'passed'] as const)(
  'is settled after a kill while it was %s, and what follows happens once',
  async (moment) => {
    const { session, store, start, running, messages, commands, stageId, started } = await setUp();
    let writes = 0;
    if (moment !== 'due') {
      // A process that is killed stores nothing from that moment on.
      await startChecks({
        ...{ store, log: pino({ level: 'silent' }), maxParallel: 2, outboxBell: createBell<StageId>(), commands },
        resumeWith: async () => true,
        untilStored: (work) => (++writes <= STORED[moment] ? store.transact(work) : new Promise(() => undefined)),
      });
    }
    await session.tell(turnEnded());
    if (moment !== 'due') {
      const first = await running(1);
      await settled(session, 'running');
      await until('the writes before the kill', async () => writes >= Math.min(2, STORED[moment]));
      if (moment === 'ended' || moment === 'told') first.end(FAILED);
      if (moment === 'passed') first.end({});
      if (STORED[moment] === 3) await until('the result', async () => writes === 3);
    }
    const isOver = moment === 'told' || moment === 'passed';
    if (moment === 'told') await settled(session, 'failed');
    if (moment === 'passed') await until('the next phase', async () => (await session.record()).phaseIndex === 1);
    const before = started.length;
    const checks = await start();
    if (!isOver) {
      (await running(before + 1)).end(FAILED);
      await settled(session, 'failed');
    }
    await checks.drain();
    expect(started).toHaveLength(isOver ? before : before + 1);
    const told = (await messages()).filter((text) => text.startsWith('The check of'));
    const prompts = (await messages()).filter((text) => text.startsWith('Finish after'));
    expect([told.length, prompts.length]).toEqual(moment === 'passed' ? [0, 1] : [1, 0]);
    const states = (await checks.list(stageId)).map(({ state }) => state);
    const last = moment === 'passed' ? 'passed' : 'failed';
    expect(states).toEqual(moment === 'due' || isOver ? [last] : [last, 'interrupted']);
    if (moment !== 'passed') expect(await session.record()).toMatchObject({ check: { failures: 1 } });
  },
);

it('keeps its result if its output cannot be read, and while the store cannot be written', async () => {
  const { session, store, commands, running, messages } = await setUp();
  const writable = Promise.withResolvers<void>();
  let writes = 0;
  const checks = await startChecks({
    ...{ store, log: pino({ level: 'silent' }), maxParallel: 2, outboxBell: createBell<StageId>() },
    commands: { ...commands, tail: () => Promise.reject(new Error('EIO')) },
    resumeWith: async () => true,
    async untilStored(work) {
      writes += 1;
      if (writes === 2) await writable.promise; // which command it is
      return store.transact(work);
    },
  });
  onTestFinished(checks.stop);
  await session.tell(turnEnded());
  (await running(1)).end(FAILED);
  await until('the write that waits', async () => writes === 2);
  expect(await session.record()).toMatchObject({ check: { state: 'running' } });
  writable.resolve();
  await settled(session, 'failed');
  expect((await messages()).at(-1)).toContain('[The output cannot be read: EIO]');
});

it('drops a check that its session knows nothing of', async () => {
  const { session, store, stageId, start, running } = await setUp();
  await session.tell(turnEnded());
  const [due] = await store.read.checks.listIn(['waiting']);
  if (due === undefined) throw new Error('nothing is due');
  await store.transact((tx) => tx.checks.save({ ...due, id: commandId(9) }));
  const checks = await start();
  (await running(1)).end({});
  await checks.drain();
  expect((await checks.list(stageId)).map(({ state }) => state).toSorted()).toEqual(['passed', 'stopped']);
});

it('is not run again for ever', async () => {
  const { session, store, start, stageId, columnNow } = await setUp();
  await session.tell(turnEnded());
  for (let restart = 0; restart < 3; restart++) {
    const [run] = await store.read.checks.listIn(['waiting']);
    if (run === undefined) throw new Error('nothing is due');
    await store.transact((tx) => changeSession(tx, stageId, () => tx.checks.save({ ...run, state: 'running' })));
    await start(undefined, 0);
  }
  expect(await columnNow()).toBe('needs-you');
  expect(await session.record()).toMatchObject({ atGate: true, check: { state: 'interrupted' } });
});

it('keeps the prompt and the result of each phase', async () => {
  const { session, start, running, stageId } = await setUp();
  const checks = await start();
  await session.tell({
    ...{ type: 'block', apiMessageId: 'm', parentToolUseId: null },
    block: { kind: 'text', text: 'It is built.' },
  });
  await session.tell(turnEnded());
  (await running(1)).end({});
  await until('the next phase', async () => (await session.record()).phaseIndex === 1);
  expect(await checks.phases(stageId)).toMatchObject([
    { phase: 'Build', prompt: expect.stringContaining('Build it.'), result: 'It is built.' },
    { phase: 'Finish', prompt: 'Finish after: output', result: null, endedAt: null },
  ]);
});

it('reads an output as plain text: without colours, overwritten lines once, and its end if it is long', () => {
  expect(plainTail('\u001b[32mok\u001b[0m 10%\rok 100%\r\nend\u0000\n')).toBe('ok 100%\nend');
  const long = plainTail(Array.from({ length: 5_000 }, (_, line) => `line ${line}`).join('\n'));
  expect(long.length).toBeLessThanOrEqual(12_010);
  expect(long.startsWith('[...]\nline ')).toBe(true);
  expect(long.endsWith('line 4999')).toBe(true);
});
