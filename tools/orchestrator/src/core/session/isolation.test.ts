import { expect, it } from 'vitest';
import { busyTestSession, type Reported, sampleAsk, type TestSession } from '../../../test/support/test-session.ts';
import { changeSession } from './change-session.ts';
import { takeIsolation } from './session-permissions.ts';

const PREVENTED = { level: 'prevented', reason: 'sandboxed', detail: null } as const;
const inside = (autoAllows = false) => busyTestSession({}, undefined, { sandbox: { isOn: true, autoAllows } });

const taken = (session: TestSession, isolation: Parameters<typeof takeIsolation>[1] = PREVENTED) =>
  session.store.transact((tx) => changeSession(tx, session.stageId, (change) => takeIsolation(change, isolation)));

const call = (toolUseId: string, command: string, more: Record<string, unknown> = {}): Reported => ({
  type: 'block',
  apiMessageId: `m-${toolUseId}`,
  parentToolUseId: null,
  block: { kind: 'tool-use', toolUseId, toolName: 'Bash', input: { command, ...more } },
});
const result = (toolUseId: string, more: Partial<Extract<Reported, { type: 'tool-result' }>> = {}): Reported => ({
  type: 'tool-result',
  toolUseId,
  isError: false,
  text: '',
  parentToolUseId: null,
  allowedBy: null,
  sandboxFailure: null,
  ...more,
});

it('lowers the isolation once a command has run outside the sandbox, and keeps it low for later launches', async () => {
  const session = await inside();
  await taken(session);
  await session.emit(call('u1', 'docker ps', { dangerouslyDisableSandbox: true }));
  expect((await session.record()).isolation).toEqual(PREVENTED);
  await session.emit(result('u1', { leftSandbox: true }));
  const left = { level: 'noticed', reason: 'command-left', detail: 'Bash docker ps' };
  expect((await session.record()).isolation).toEqual(left);
  expect(await session.transcript()).toContainEqual(expect.objectContaining({ kind: 'notice', code: 'sandbox-left' }));
  await taken(session);
  expect((await session.record()).isolation).toEqual(left);
});

it('marks a request to leave the sandbox, and offers no rule to keep for it', async () => {
  const input = { command: 'docker ps', dangerouslyDisableSandbox: true };
  const suggestions = [{ type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash' }] }];
  const wants: Reported = { type: 'asked', requestId: 'r1', kind: 'approval', ask: sampleAsk({ input, suggestions }) };
  const session = await inside();
  await session.emit(wants);
  expect(await session.pending()).toMatchObject([
    { leavesSandbox: { reason: null }, suggestions: [], suppressAlwaysAllow: true },
  ]);
  const outside = await busyTestSession();
  await outside.emit(wants);
  expect(await outside.pending()).toMatchObject([{ leavesSandbox: null, suggestions }]);
});

it('counts only commands that ran unasked because they ran in the sandbox', async () => {
  const session = await inside(true);
  await session.emit(call('u1', 'make'), result('u1', { unruled: true, underRule: true }));
  await session.emit(call('u2', 'make'), result('u2', { underRule: true }));
  await session.emit(call('u3', 'make'), result('u3'));
  expect((await session.record()).sandboxAllowed).toBe(1);
  const asking = await inside(false);
  await asking.emit(call('u1', 'ls'), result('u1', { unruled: true, underRule: true }));
  expect((await asking.record()).sandboxAllowed).toBe(0);
});

it('blames the sandbox for a failed command only in a session with a sandbox', async () => {
  const sandboxFailure = { isCertain: false, detail: 'Read-only file system' };
  const failing = [call('u1', 'touch /x'), result('u1', { isError: true, sandboxFailure })];
  const [session, outside] = [await inside(), await busyTestSession()];
  await session.emit(...failing);
  expect((await session.transcript()).at(-1)).toMatchObject({ kind: 'tool-result', sandboxFailure });
  await outside.emit(...failing);
  expect((await outside.transcript()).at(-1)).toMatchObject({ kind: 'tool-result', sandboxFailure: null });
});
