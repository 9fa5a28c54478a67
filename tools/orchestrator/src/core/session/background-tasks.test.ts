import { expect, it } from 'vitest';
import { busyTestSession, turnEnded } from '../../../test/support/test-session.ts';

const PIPELINE = [
  { name: 'Build', prompt: 'Build it.', gate: 'none' },
  { name: 'Finish', prompt: 'Finish it.', gate: 'none' },
];

const call = (toolUseId: string, command: string) =>
  ({
    type: 'block',
    apiMessageId: `msg-${toolUseId}`,
    parentToolUseId: null,
    block: { kind: 'tool-use', toolUseId, toolName: 'Bash', input: { command } },
  }) as const;
const started = (taskId: string, toolUseId: string) =>
  ({ type: 'task-started', taskId, toolUseId, description: 'Serve', taskType: 'local_bash' }) as const;
const serve = { taskId: 't1', type: 'local_bash', description: 'Serve' };
const known = { ...serve, toolUseId: 'c1', command: 'npm run dev', startedAt: expect.any(String), mark: null };

it('shows the command of a task that the CLI lists before it reports the start', async () => {
  const session = await busyTestSession();
  const record = await session.emit(
    call('c1', 'npm run dev'),
    { type: 'tasks', tasks: [serve] },
    started('t1', 'c1'),
    call('c2', 'ls'),
  );
  expect(record.backgroundTasks).toEqual([known]);
});

it('shows the command of a task that starts in the foreground and moves to the background', async () => {
  const session = await busyTestSession();
  const before = await session.emit(call('c1', 'npm run dev'), started('t1', 'c1'));
  expect(before.backgroundTasks).toEqual([]);
  const record = await session.emit({ type: 'tasks', tasks: [serve] });
  expect(record.backgroundTasks).toEqual([known]);
});

it('keeps the time at which a task was first listed if its start is never reported', async () => {
  const session = await busyTestSession();
  const first = await session.emit({ type: 'tasks', tasks: [serve] });
  const second = await session.emit({ type: 'tasks', tasks: [serve, { ...serve, taskId: 'constructor' }] });
  const [task] = first.backgroundTasks;
  expect(task).toMatchObject({ command: null, toolUseId: null, startedAt: expect.any(String) });
  expect(second.backgroundTasks).toMatchObject([
    { startedAt: task?.startedAt },
    { taskId: 'constructor', command: null },
  ]);
  expect((await session.end()).backgroundTasks).toEqual([]);
});

const listed = (...tasks: (typeof serve)[]) => ({ type: 'tasks', tasks }) as const;
const ended = (isReported: boolean) => ({ type: 'task-ended', taskId: 't1', runId: 'r1', isReported }) as const;

it('is at work from the end of a command until Claude has said something about it', async () => {
  const session = await busyTestSession({ pipeline: PIPELINE });
  const waiting = await session.emit(listed(serve), turnEnded());
  expect(waiting).toMatchObject({ state: 'idle', phaseIndex: 0, now: { kind: 'background', others: 0 } });
  expect(await session.emit(ended(true), listed())).toMatchObject({ state: 'busy', phaseIndex: 0 });
  const report = { type: 'task-reported', runId: 'r1' } as const;
  const woken = { type: 'turn-started', model: null, mode: null, messageIds: [] } as const;
  expect(await session.emit(woken, report, turnEnded())).toMatchObject({ phaseIndex: 1, reports: [] });
});

it('goes on without a command that was stopped, and names it', async () => {
  const session = await busyTestSession({ pipeline: PIPELINE });
  await session.emit(listed(serve), turnEnded());
  expect(await session.emit(ended(false), listed())).toMatchObject({ phaseIndex: 1, reports: [] });
  expect(await session.transcript()).toContainEqual(expect.objectContaining({ code: 'tasks-ended', level: 'warning' }));
});

it('waits for no report after an interrupt, or in another process', async () => {
  const session = await busyTestSession({ pipeline: PIPELINE });
  await session.emit(listed(serve), ended(true), listed(), turnEnded('interrupted'));
  expect(await session.record()).toMatchObject({ state: 'idle', reports: [], phaseIndex: 0 });
});
