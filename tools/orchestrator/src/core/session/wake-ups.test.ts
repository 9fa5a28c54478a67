import { expect, it } from 'vitest';
import { busyTestSession, type Reported, type TestSession, turnEnded, up } from '../../../test/support/test-session.ts';

/** The result texts are those of 2.1.330. */
const LOOP =
  'Next wakeup scheduled for 07:56:00 (in 67s). If you owe the user a status update this tick, write it now.';
const CRON =
  'Scheduled recurring job a2e7c456 (Every minute). Next run: Nov 28 7:55am. Session-only (not written to disk, dies when Claude exits).';

const DURABLE = CRON.replace(/Session-only.*/, 'Persisted to .claude/scheduled_tasks.json.');

let calls = 0;
function call(toolName: string, input: Record<string, unknown>, text: string): Reported[] {
  const toolUseId = `toolu_${++calls}`;
  const block = { kind: 'tool-use', toolUseId, toolName, input } as const;
  return [
    { type: 'block', apiMessageId: `msg_${calls}`, parentToolUseId: null, block },
    {
      type: 'tool-result',
      parentToolUseId: null,
      toolUseId,
      isError: false,
      text,
      allowedBy: null,
      sandboxFailure: null,
    },
  ];
}
const woken = (messageId: string, wakeUp = 'loop_wakeup'): Reported[] => [
  { type: 'message-progress', messageId, progress: 'consumed', wakeUp },
  { type: 'message-progress', messageId, progress: 'finished' },
];
const notices = async (session: TestSession, code: string) =>
  (await session.transcript()).flatMap((entry) => (entry.kind === 'notice' && entry.code === code ? [entry.text] : []));

it('takes a wake-up that Claude had planned for no stranger’s message, and says why Claude works', async () => {
  const session = await busyTestSession();
  await session.emit(...call('ScheduleWakeup', { delaySeconds: 60, reason: 'look at CI' }, LOOP));
  await session.emit(...call('CronCreate', { cron: '* * * * *', prompt: 'check the build' }, CRON), turnEnded());
  await session.emit(...woken('m7'), turnEnded(), ...woken('m8', 'schedule_wakeup'), turnEnded());
  expect((await session.record()).alarm).toBeNull();
  expect(await notices(session, 'woke-up')).toEqual([
    'Claude woke up as it had planned: look at CI',
    'Claude woke up as it had planned: check the build',
  ]);
  // A cancelled one is planned no more, and one that came was the last.
  await session.emit(...call('CronDelete', { id: 'a2e7c456' }, 'Cancelled job a2e7c456.'));
  expect((await session.record()).wakeUps).toEqual([]);
  await session.emit(...woken('m9', 'schedule_wakeup'));
  expect((await session.record()).alarm?.code).toBe('foreign-message');
});

it('raises an alarm for a message of its own accord if Claude had planned none', async () => {
  const session = await busyTestSession();
  await session.emit(...call('CronCreate', { cron: '* * * * *', prompt: 'check the build' }, CRON), turnEnded());
  await session.emit(...woken('m7')); // no `ScheduleWakeup`
  expect((await session.record()).alarm?.code).toBe('foreign-message');
});

it('begins no phase before Claude went on as it had planned', async () => {
  const pipeline = ['One', 'Two'].map((name) => ({ name, prompt: name, gate: 'none', conversation: 'same' }));
  const session = await busyTestSession({ pipeline });
  await session.emit(...call('ScheduleWakeup', { delaySeconds: 60, prompt: 'go on' }, LOOP), turnEnded());
  expect(await session.record()).toMatchObject({ phaseIndex: 0, state: 'idle' });
  await session.emit(...woken('m7'), turnEnded());
  expect(await session.record()).toMatchObject({ phaseIndex: 1, state: 'busy' });
});

it('says what Claude will not come back to when its process has ended', async () => {
  const session = await busyTestSession();
  await session.emit(...call('CronCreate', { cron: '* * * * *', prompt: 'check the build' }, CRON), turnEnded());
  await session.end();
  expect(await notices(session, 'wake-ups-lost')).toEqual([
    expect.stringContaining(
      'wake up by itself for "check the build" (again and again). Claude Code keeps that in its process only',
    ),
  ]);
  expect((await session.record()).wakeUps).toEqual([]);
});

it('knows a job that Claude Code keeps in a file, also in a later process', async () => {
  const session = await busyTestSession();
  await session.emit(...call('CronCreate', { cron: '* * * * *', prompt: 'check the build' }, DURABLE), turnEnded());
  expect(await session.record()).toMatchObject({ wakeUps: [{ what: 'check the build', at: null, isDurable: true }] });
  await session.end();
  expect(await notices(session, 'wake-ups-lost')).toEqual([]);
  await session.begin();
  await session.emit(up(), ...woken('m7', 'schedule_wakeup'), turnEnded());
  expect((await session.record()).alarm).toBeNull();
  expect(await notices(session, 'woke-up')).toEqual(['Claude woke up as it had planned: check the build']);
});
