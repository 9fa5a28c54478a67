import { DEFAULT_ALERTS, Stage, StageId } from '@callboard/contract';
import { sampleDecision, sampleStage } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { asked, busyTestSession } from '../../../test/support/test-session.ts';
import { notificationOf, settledNotificationOf, wholeInput } from './notification-channel.ts';

async function ask(fields: Parameters<typeof asked>[1]) {
  const session = await busyTestSession();
  await session.emit(asked('r1', fields));
  const [request] = await session.pending();
  if (request === undefined) throw new Error('nothing is asked');
  return wholeInput(request);
}

it('shows a short command whole', async () => {
  expect(await ask({ input: { command: 'npm test', description: 'Runs the tests' } })).toBe('npm test');
  expect(await ask({ input: { command: 'x'.repeat(60) } })).toBe('x'.repeat(60));
});

it.each([
  ['is too long', { input: { command: 'x'.repeat(61) } }],
  ['has several lines', { input: { command: 'make\nrm -rf /' } }],
  ['begins with a space', { input: { command: ' make' } }],
  ['has a character that cannot be seen', { input: { command: 'make \u202Ehs' } }],
  ['has more to it', { input: { command: 'make', run_in_background: true } }],
  ['leaves the sandbox', { input: { command: 'make' }, leavesSandbox: { reason: null } }],
  ['is no command', { toolName: 'Write', input: { file_path: 'a', content: 'b' } }],
])('shows no input that %s', async (_, fields) => {
  expect(await ask(fields)).toBeNull();
});

const at = '2026-01-02T12:00:00.000Z';
const stageId = StageId.parse('STAGE-1');
const announcement = {
  ...({ key: 'a key', signal: 'finished', stageId, requestId: null } as const),
  since: at,
  madeAt: at,
  settledAt: null,
};
const stageOf = (fields: object) => Stage.parse({ ...sampleStage({ id: stageId, title: 'Login form' }), ...fields });

it('says what a finished stage is now', () => {
  const titleOf = (fields: object) =>
    notificationOf(announcement, {
      stage: stageOf(fields),
      request: null,
      settings: DEFAULT_ALERTS,
      because: '',
    }).title;
  expect(titleOf({})).toBe('Login form: ready for review');
  expect(titleOf({ completedAt: at })).toBe('Login form: merged and done');
});

it('says how a request ended, by whom and from where, and what a stage does now', () => {
  const asked = { ...announcement, requestId: sampleDecision({}).requestId };
  const answered = (fields: object) =>
    settledNotificationOf(asked, { stage: stageOf({}), decision: sampleDecision({ by: 'Ada', ...fields }) }).title;
  expect(answered({ outcome: 'denied' })).toBe('Login form: denied by Ada');
  expect(answered({ outcome: 'answered', device: 'Chrome on Android' })).toBe(
    'Login form: answered by Ada from Chrome on Android',
  );
  expect(answered({ outcome: 'timed-out', by: null })).toBe('Login form: timed out');
  const fate = (stage: Stage | null) => settledNotificationOf(announcement, { stage, decision: null }).title;
  expect([fate(stageOf({})), fate(stageOf({ completedAt: at })), fate(null)]).toEqual([
    'Login form: goes on',
    'Login form: done',
    'STAGE-1: deleted',
  ]);
});
