import { column, WorktreeCommand } from '@callboard/contract';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { until } from '../../../../test-support/until.ts';
import { type CheckCommands, type Checks, startChecks } from '../../src/features/checks/checks.ts';
import { begun, busyTestSession, read, type TestSession, turnEnded } from './test-session.ts';

type Ended = WorktreeCommand;

const AT = '2026-01-01T10:00:00.000Z';
export const commandId = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

/** A runner of commands that ends them when the test says so. */
function fakeCommands() {
  const started: { id: string; command: string; end: (ended: Partial<Ended>) => void }[] = [];
  const outputs = new Map<string, string>();
  const commands: CheckCommands = {
    async start({ stageId, command, kind, name, by }) {
      const id = commandId(started.length + 1);
      const running = WorktreeCommand.parse({
        id,
        stageId,
        kind,
        name,
        command,
        by,
        attempt: 1,
        state: 'running',
        exitCode: null,
        reason: null,
        isolation: { level: 'none', reason: null },
        startedAt: AT,
        endedAt: null,
      });
      const { promise, resolve } = Promise.withResolvers<Ended>();
      const ended = { ...running, state: 'passed' as const, exitCode: 0, endedAt: AT };
      started.push({ id, command, end: (how) => resolve({ ...ended, ...how }) });
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

/** Two phases: a check at the end of the first. */
export const PIPELINE = [
  { name: 'Build', prompt: 'Build it.', gate: { check: { command: 'npm test', timeLimit: 60, attempts: 3 } } },
  { name: 'Finish', prompt: 'Finish after: {{check.output}}', gate: 'none' },
];

export const FAILED = { state: 'failed', exitCode: 1 } as const;

/** A busy session in a pipeline, and checks whose commands the test ends. */
export async function setUpChecks(pipeline: unknown[] = PIPELINE) {
  const session = await busyTestSession({ pipeline });
  const { store, stageId } = session;
  const fake = fakeCommands();
  const resumed: string[] = [];
  const log = pino({ level: 'silent' });
  let checks: Checks | null = null;
  const start = async (commands = fake.commands, maxParallel = 2) => {
    const made = await startChecks({
      store,
      log,
      commands,
      maxParallel,
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
    await session.emit(read(row.wireId), begun(row.wireId));
    return session.emit(turnEnded());
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

/** Resolves when the session's check is in this state. */
export const settled = (session: TestSession, wanted: string) =>
  until(`a check that is ${wanted}`, async () => (await session.record()).check?.state === wanted);
