import { expect, it } from 'vitest';
import {
  busyTestSession,
  type Reported,
  sampleAsk,
  type TestSession,
  turnEnded,
} from '../../../test/support/test-session.ts';

const call = (toolUseId: string, command: string, parentToolUseId: string | null = null): Reported => ({
  type: 'block',
  apiMessageId: `m-${toolUseId}`,
  parentToolUseId,
  block: { kind: 'tool-use', toolUseId, toolName: 'Bash', input: { command } },
});
const result = (toolUseId: string): Reported => ({
  type: 'tool-result',
  toolUseId,
  isError: false,
  text: '',
  parentToolUseId: null,
  allowedBy: null,
  sandboxFailure: null,
});
const wants: Reported = {
  type: 'asked',
  requestId: 'r1',
  kind: 'network',
  ask: sampleAsk({ toolName: 'SandboxNetworkAccess', input: { host: 'a.example' }, toolUseId: 'of-no-call' }),
};
const tasks = (...ids: string[]): Reported => ({
  type: 'tasks',
  tasks: ids.map((taskId) => ({ taskId, type: 'local_bash', description: 'Dev server' })),
});
const asking = async (session: TestSession) => (await session.pending())[0]?.commands.map(({ text }) => text);

it('a network request names the one running command, and no call', async () => {
  const session = await busyTestSession();
  await session.emit(call('u1', 'make'), result('u1'), call('u2', 'curl a.example'), wants);
  expect(await session.pending()).toMatchObject([{ toolUseId: '', suggestions: [] }]);
  expect(await asking(session)).toEqual(['curl a.example']);
});

it('a network request names every command that may have asked: parallel ones and background tasks', async () => {
  const session = await busyTestSession();
  await session.emit(tasks('t1'), call('u1', 'curl one'), call('u2', 'curl two', 'agent-1'), wants);
  expect(await asking(session)).toEqual(['curl one', 'curl two', 'Dev server']);
});

it('a network request does not name commands outside the sandbox', async () => {
  const session = await busyTestSession();
  const outside = call('u1', 'docker ps');
  if (outside.type === 'block' && outside.block.kind === 'tool-use')
    outside.block.input.dangerouslyDisableSandbox = true;
  await session.emit(outside, call('u2', 'curl a.example'), wants);
  expect(await asking(session)).toEqual(['curl a.example']);
});

it('a network request does not name a command that waits for a person', async () => {
  const session = await busyTestSession();
  const waits: Reported = { type: 'asked', requestId: 'r0', kind: 'approval', ask: sampleAsk({ toolUseId: 'u1' }) };
  await session.emit(call('u1', 'rm -r x'), waits, call('u2', 'curl a.example'), wants);
  const pending = await session.pending();
  expect(pending.find(({ kind }) => kind === 'network')?.commands).toMatchObject([{ text: 'curl a.example' }]);
});

it('closes a network request when its commands have ended, and denies it, so that the next connection asks again', async () => {
  const session = await busyTestSession();
  await session.emit(call('u1', 'curl one'), call('u2', 'curl two'), wants);
  await session.emit(result('u1'));
  expect(await session.pending()).toHaveLength(1);
  expect(await session.emit(result('u2'))).toMatchObject({ state: 'busy' });
  expect(session.events('approval-resolved')).toMatchObject([{ outcome: 'closed', by: null }]);
  const answer = (await session.outbox()).find(({ kind }) => kind === 'answer');
  expect(answer).toMatchObject({ wireId: 'r1', body: { response: { response: { behavior: 'deny' } } } });
});

it('closes a network request at the end of the turn, or later when no command runs in the background', async () => {
  const session = await busyTestSession();
  await session.emit(tasks('t1'), wants, turnEnded());
  expect(await session.pending()).toHaveLength(1);
  expect(await session.emit(tasks())).toMatchObject({ state: 'idle' });
  expect(await session.pending()).toEqual([]);
});
