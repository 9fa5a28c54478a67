import { describe, expect, it } from 'vitest';
import { echo } from '../../../test/support/test-answers.ts';
import { testQueue } from '../../../test/support/test-queue.ts';
import { asked, busyTestSession, type TestSession, turnEnded } from '../../../test/support/test-session.ts';
import { listDeferred, resumeDeferred } from '../launch/scheduler.ts';
import { changeSession } from './change-session.ts';
import { acknowledgeAlarm, alarmOf, raiseAlarm } from './requests.ts';

const notices = async (session: TestSession) =>
  (await session.transcript()).flatMap((entry) => (entry.kind === 'notice' ? [entry.code] : []));

const raise = ({ store, stageId }: TestSession, ...codes: Parameters<typeof alarmOf>[0][]) =>
  store.transact((tx) =>
    changeSession(tx, stageId, async (change) => {
      for (const code of codes) await raiseAlarm({ tx, change, onAlarm: () => undefined }, alarmOf(code));
    }),
  );

const acknowledge = ({ store, stageId }: TestSession) =>
  store.transact((tx) => changeSession(tx, stageId, (change) => acknowledgeAlarm(change, tx.now, 'Ada')));

const STOPPED = { kind: 'stopped', reason: 'Stopped by Callboard.' } as const;

describe('a session under alarm', () => {
  it('shows the first alarm, notes each later one once, and closes open requests', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'), asked('r2'));
    await session.emit(echo());
    await raise(session, 'foreign-mode', 'foreign-mode', 'foreign-answer');
    expect(session.alarms()).toBe(1);
    expect((await session.record()).alarm).toMatchObject({ code: 'foreign-answer' });
    expect(session.events('session-updated').at(-1)?.alarm?.detail).toContain('Look at the last steps');
    expect(await notices(session)).toEqual(['foreign-answer', 'foreign-mode']);
    expect(await session.pending()).toEqual([]);
    await session.emit(asked('r3'));
    expect(await session.pending()).toEqual([]);
  });

  it('gets no queued message, no next phase and no start', async () => {
    const session = await busyTestSession({
      pipeline: [
        { name: 'One', prompt: 'a' },
        { name: 'Two', prompt: 'b' },
      ],
    });
    const messageId = await session.enqueue('Go on');
    await raise(session, 'foreign-message');
    expect(await session.emit(turnEnded())).toMatchObject({ state: 'idle', phaseIndex: 0, queued: 1 });
    await session.end(STOPPED);
    await expect(session.begin()).rejects.toMatchObject({ code: 'session_alarm' });
    await expect(session.begin(messageId)).rejects.toMatchObject({ code: 'session_alarm' });
    expect(await session.record()).toMatchObject({ launchId: null, queued: 1 });
  });

  it('queues every message, and refuses to release the queue', async () => {
    const session = await busyTestSession();
    await raise(session, 'foreign-message');
    const resumed: string[] = [];
    const queue = testQueue(session, { resumeWith: async (_tx, stageId) => resumed.push(stageId) > 0 });
    const send = (mode: 'append' | 'now' | 'steer') => queue.send(session.stageId, { message: mode, mode }, 'Ada');
    for (const mode of ['append', 'now', 'steer'] as const)
      expect(await send(mode)).toMatchObject({ status: 'queued' });
    await session.end(STOPPED);
    const { messageId } = await send('append');
    await expect(queue.release(session.stageId, 'Ada')).rejects.toMatchObject({ code: 'session_alarm' });
    const sent = queue.sendQueued(session.stageId, messageId, 'now', 'Ada');
    await expect(sent).rejects.toMatchObject({ code: 'session_alarm' });
    expect((await session.queue()).map(({ text }) => text)).toEqual(['append', 'now', 'steer', 'append']);
    expect(resumed).toEqual([]);
  });

  it('is not resumed for messages that waited for room on the disk', async () => {
    const session = await busyTestSession();
    await session.enqueue('Later');
    await session.end(STOPPED);
    const { store, stageId } = session;
    const [row] = await store.read.outbox.queueOf(stageId);
    if (row === undefined) throw new Error('the queue is empty');
    await store.transact((tx) => tx.outbox.setBody(row.id, { ...row.body, awaitsRoom: true }));
    await raise(session, 'forged-output');
    const resumed: string[] = [];
    const resumeWith = async () => resumed.push(stageId) > 0;
    const repeatIn = async () => undefined;
    expect(await listDeferred(store.read)).toEqual([]);
    await resumeDeferred({ store, resumeWith, repeatIn }, stageId);
    expect(resumed).toEqual([]);
    await acknowledge(session);
    expect(await listDeferred(store.read)).toEqual([stageId]);
    await resumeDeferred({ store, resumeWith, repeatIn }, stageId);
    expect(resumed).toEqual([stageId]);
  });

  it('may continue after a person acknowledged the alarm, who is named; its queue stays held until it is released', async () => {
    const session = await busyTestSession();
    await session.enqueue('Go on');
    await raise(session, 'foreign-answer');
    await session.end(STOPPED);
    expect(await acknowledge(session)).toMatchObject({ alarm: null, queueHeld: true });
    const last = (await session.transcript()).at(-1);
    expect(last).toMatchObject({ code: 'alarm-acknowledged', text: expect.stringContaining('Ada') });
    await expect(acknowledge(session)).rejects.toMatchObject({ code: 'no_alarm' });
    await session.begin();
    expect(await session.record()).toMatchObject({ launchState: 'starting' });
    await raise(session, 'foreign-answer');
    expect((await notices(session)).filter((code) => code === 'foreign-answer')).toHaveLength(2);
  });
});
