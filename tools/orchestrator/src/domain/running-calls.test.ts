import { expect, it } from 'vitest';
import { busyTestSession, sampleAsk, type TestSession, type Told, turnEnded } from '../../test/support/test-session.ts';

const call = (toolUseId: string, toolName: string, input: object, parentToolUseId: string | null = null): Told => ({
  type: 'block',
  apiMessageId: `m-${toolUseId}`,
  parentToolUseId,
  block: { kind: 'tool-use', toolUseId, toolName, input: { ...input } },
});
const bash = (toolUseId: string, command: string) => call(toolUseId, 'Bash', { command });
const result = (toolUseId: string): Told => ({
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
  await session.tell(bash('u1', 'npm test'));
  expect(await now(session)).toMatchObject({ kind: 'tool', action: 'npm test', isCommand: true, toolUseId: 'u1' });
  await session.tell(result('u1'));
  expect(await now(session)).toMatchObject({ kind: 'thinking' });
});

it('tells the oldest of several calls, and of a subagent what it runs', async () => {
  const session = await busyTestSession();
  await session.tell(bash('u1', 'make one'), bash('u2', 'make two'));
  expect(await now(session)).toMatchObject({ action: 'make one' });
  await session.tell(result('u1'));
  expect(await now(session)).toMatchObject({ action: 'make two' });
  await session.tell(result('u2'), call('t1', 'Task', { description: 'tests' }));
  expect(await now(session)).toMatchObject({ action: 'Task tests', isCommand: false });
  await session.tell(call('u3', 'Read', { file_path: 'a.ts' }, 't1'));
  expect(await now(session)).toMatchObject({ action: 'Read a.ts' });
  await session.tell(result('t1'));
  expect(await now(session)).toMatchObject({ kind: 'thinking' });
});

it('does not tell a call that waits for a person', async () => {
  const session = await busyTestSession();
  const ask: Told = { type: 'asked', requestId: 'r1', kind: 'approval', ask: sampleAsk({ toolUseId: 'u1' }) };
  await session.tell(bash('u1', 'npm i'), ask);
  expect(await now(session)).toBeNull();
});

it('tells nothing between turns', async () => {
  const session = await busyTestSession();
  await session.tell(bash('u1', 'npm test'), turnEnded());
  expect(await now(session)).toBeNull();
});
