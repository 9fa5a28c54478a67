import { expect, it } from 'vitest';
import {
  busyTestSession,
  type Reported,
  sampleAsk,
  type TestSession,
  turnEnded,
} from '../../../test/support/test-session.ts';

const call = (toolUseId: string, toolName: string, input: object, parentToolUseId: string | null = null): Reported => ({
  type: 'block',
  apiMessageId: `m-${toolUseId}`,
  parentToolUseId,
  block: { kind: 'tool-use', toolUseId, toolName, input: { ...input } },
});
const bash = (toolUseId: string, command: string) => call(toolUseId, 'Bash', { command });
const result = (toolUseId: string): Reported => ({
  type: 'tool-result',
  toolUseId,
  isError: false,
  text: '',
  parentToolUseId: null,
  allowedBy: null,
  sandboxFailure: null,
});
const now = async (session: TestSession) => (await session.record()).now;

it('tells the command that runs, and thinking when it has ended', async () => {
  const session = await busyTestSession();
  await session.emit(bash('u1', 'npm test'));
  expect(await now(session)).toMatchObject({ kind: 'tool', action: 'npm test', isCommand: true, toolUseId: 'u1' });
  await session.emit(result('u1'));
  expect(await now(session)).toMatchObject({ kind: 'thinking' });
});

it('tells the oldest of several calls, and of a subagent what it runs', async () => {
  const session = await busyTestSession();
  await session.emit(bash('u1', 'make one'), bash('u2', 'make two'));
  expect(await now(session)).toMatchObject({ action: 'make one' });
  await session.emit(result('u1'));
  expect(await now(session)).toMatchObject({ action: 'make two' });
  await session.emit(result('u2'), call('t1', 'Task', { description: 'tests' }));
  expect(await now(session)).toMatchObject({ action: 'Task tests', isCommand: false });
  await session.emit(call('u3', 'Read', { file_path: 'a.ts' }, 't1'));
  expect(await now(session)).toMatchObject({ action: 'Read a.ts' });
  await session.emit(result('t1'));
  expect(await now(session)).toMatchObject({ kind: 'thinking' });
});

it('does not tell a call that waits for a person', async () => {
  const session = await busyTestSession();
  const ask: Reported = { type: 'asked', requestId: 'r1', kind: 'approval', ask: sampleAsk({ toolUseId: 'u1' }) };
  await session.emit(bash('u1', 'npm i'), ask);
  expect(await now(session)).toBeNull();
});

it('tells nothing between turns', async () => {
  const session = await busyTestSession();
  await session.emit(bash('u1', 'npm test'), turnEnded());
  expect(await now(session)).toBeNull();
});
