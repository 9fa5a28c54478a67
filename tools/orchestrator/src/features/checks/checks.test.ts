import { expect, it } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { commandId, FAILED, PIPELINE, settled, setUpChecks } from '../../../test/support/test-checks.ts';
import { turnEnded } from '../../../test/support/test-session.ts';
import { type CheckCommands, plainTail } from './checks.ts';

it('runs the check when the phase’s turn has ended, and begins the next phase when it passes', async () => {
  const { session, start, running, columnNow, messages } = await setUpChecks();
  await start();
  expect(await session.emit(turnEnded())).toMatchObject({ state: 'busy', atGate: false, check: { state: 'waiting' } });
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
  const { session, start, running, turn, messages, columnNow, outputs, state } = await setUpChecks();
  await start();
  await session.emit(turnEnded());
  outputs.set(commandId(1), '\u001b[31m1 test failed\u001b[0m\n```\n');
  (await running(1)).end(FAILED);
  await settled(session, 'failed');
  expect(await session.record()).toMatchObject({ state: 'busy', check: { failures: 1, attempts: 3 } });
  const reported = (await messages()).at(-1) ?? '';
  expect(reported).toContain('````text\n1 test failed\n```\n````');
  expect(reported).toContain('This command ended with exit code 1:\n\n````sh\nnpm test\n````');
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
  const { session, start, running, turn, messages, stageId, columnNow } = await setUpChecks(once);
  const checks = await start();
  await expect(checks.runAgain(stageId, 'Ada')).rejects.toMatchObject({ code: 'already_running' });
  await session.emit(turnEnded());
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
  const { session, start, running, turn, messages } = await setUpChecks();
  await start();
  await session.emit(turnEnded());
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
  const { session, start, running, turn, messages } = await setUpChecks();
  await start();
  await session.emit(turnEnded());
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
  const { session, start, running, stageId, columnNow, state } = await setUpChecks();
  const checks = await start();
  expect(await checks.stopOf(stageId, 'Ada')).toBe(false);
  await session.emit(turnEnded());
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
  const { session, start, commands, columnNow } = await setUpChecks();
  const broken: CheckCommands = { ...commands, start: () => Promise.reject(new Error('no shell')) };
  await start(broken);
  await session.emit(turnEnded());
  await settled(session, 'not-started');
  expect(await columnNow()).toBe('needs-you');
  expect((await session.transcript()).at(-1)).toMatchObject({
    code: 'check',
    text: expect.stringContaining('no shell'),
  });
});

it('has no check after a turn that did not end well', async () => {
  const { session, start, started } = await setUpChecks();
  await start();
  await session.emit(turnEnded('failed'));
  expect(await session.record()).toMatchObject({ check: null });
  expect(started).toEqual([]);
});

it('stops with an alarm', async () => {
  const { session, start, running, state, columnNow } = await setUpChecks();
  await start();
  await session.emit(turnEnded());
  await running(1);
  await settled(session, 'running');
  await session.emit({ type: 'forged-line' });
  expect(await state()).toBe('stopped');
  expect(await columnNow()).toBe('needs-you');
});

it('goes on with an ended process: its session is resumed for what follows', async () => {
  const { session, start, running, resumed } = await setUpChecks();
  await start();
  await session.emit(turnEnded());
  const command = await running(1);
  await session.end();
  expect(await session.record()).toMatchObject({ state: 'busy', launchId: null, lastTurn: { outcome: 'succeeded' } });
  command.end(FAILED);
  await until('the message', async () => resumed.length === 1);
  expect(resumed[0]).toContain('did not pass');
});

/** How many writes of a check are stored before Callboard is killed: the claim, its command, and the result with what follows. */
it('keeps the prompt and the result of each phase', async () => {
  const { session, start, running, stageId } = await setUpChecks();
  const checks = await start();
  await session.emit({
    type: 'block',
    apiMessageId: 'm',
    parentToolUseId: null,
    block: { kind: 'text', text: 'It is built.' },
  });
  await session.emit(turnEnded());
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
