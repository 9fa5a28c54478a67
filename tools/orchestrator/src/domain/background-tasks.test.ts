import { expect, it } from 'vitest';
import { busyTestSession } from '../../test/support/test-session.ts';

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
const known = { ...serve, toolUseId: 'c1', command: 'npm run dev', startedAt: expect.any(String) };

it('shows the command of a task that the CLI lists before it reports the start', async () => {
  const session = await busyTestSession();
  const record = await session.tell(
    call('c1', 'npm run dev'),
    { type: 'tasks', tasks: [serve] },
    started('t1', 'c1'),
    call('c2', 'ls'),
  );
  expect(record.backgroundTasks).toEqual([known]);
});

it('shows the command of a task that starts in the foreground and moves to the background', async () => {
  const session = await busyTestSession();
  const before = await session.tell(call('c1', 'npm run dev'), started('t1', 'c1'));
  expect(before.backgroundTasks).toEqual([]);
  const record = await session.tell({ type: 'tasks', tasks: [serve] });
  expect(record.backgroundTasks).toEqual([known]);
});

it('keeps the time at which a task was first listed if its start is never reported', async () => {
  const session = await busyTestSession();
  const first = await session.tell({ type: 'tasks', tasks: [serve] });
  const second = await session.tell({ type: 'tasks', tasks: [serve, { ...serve, taskId: 'constructor' }] });
  const [task] = first.backgroundTasks;
  expect(task).toMatchObject({ command: null, toolUseId: null, startedAt: expect.any(String) });
  expect(second.backgroundTasks).toMatchObject([
    { startedAt: task?.startedAt },
    { taskId: 'constructor', command: null },
  ]);
  expect((await session.end()).backgroundTasks).toEqual([]);
});
