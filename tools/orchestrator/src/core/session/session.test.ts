import { describe, expect, it } from 'vitest';
import {
  asked,
  beginTestSession,
  busyTestSession,
  type Reported,
  read,
  turnEnded,
  up,
} from '../../../test/support/test-session.ts';
import { changeSession } from './change-session.ts';

describe('the state of a session', () => {
  it('is starting until the process is up, then busy with the prompt', async () => {
    const session = await beginTestSession();
    expect(await session.record()).toMatchObject({ state: 'starting', queued: 0 });
    expect(await session.emit(up())).toMatchObject({ state: 'busy' });
  });

  it('is waiting while at least one request is open', async () => {
    const session = await busyTestSession();
    expect(await session.emit(asked('r1'), asked('r2'))).toMatchObject({ state: 'waiting' });
    expect(await session.emit({ type: 'withdrawn', requestId: 'r1' })).toMatchObject({ state: 'waiting' });
    expect(await session.emit({ type: 'withdrawn', requestId: 'r2' })).toMatchObject({ state: 'busy' });
  });

  it('is idle when the turn has ended, and keeps the time of that', async () => {
    const session = await busyTestSession();
    const idle = await session.emit(turnEnded());
    expect(idle).toMatchObject({ state: 'idle', lastTurn: { outcome: 'succeeded' }, costUsd: 0.5 });
    const later = await session.emit({ type: 'mode-changed', mode: 'plan' });
    expect(later).toMatchObject({ state: 'idle', stateSince: idle.stateSince, mode: 'plan' });
  });

  it('is marked as stalled only while it is busy, in its events too', async () => {
    const session = await busyTestSession();
    const silent = (stalledSince: string) =>
      session.store.transact((tx) =>
        changeSession(tx, session.stageId, (change) => {
          change.record = { ...change.record, stalledSince };
        }),
      );
    const since = '2026-01-01T10:00:00.000Z';
    expect(await silent(since)).toMatchObject({ state: 'busy', stalledSince: since });
    expect(await session.emit(asked('r1'))).toMatchObject({ state: 'waiting', stalledSince: null });
    await session.emit({ type: 'withdrawn', requestId: 'r1' });
    await silent(since);
    expect(await session.emit(turnEnded())).toMatchObject({ state: 'idle', stalledSince: null });
    // A watch that saw it busy and marks it now comes too late.
    expect(await silent(since)).toMatchObject({ state: 'idle', stalledSince: null });
    const reported = session.events('session-updated').filter(({ stalledSince }) => stalledSince !== null);
    expect(reported.map(({ state }) => state)).toEqual(['busy', 'busy']);
  });

  it('takes the mode that a confirmation names, even if another one was requested, and emits it once', async () => {
    const session = await busyTestSession();
    const { platform, stageId, store } = session;
    const wireId = platform.newWireId();
    await store.transact(async (tx) => {
      const row = {
        id: platform.newId(),
        stageId,
        launchId: session.launchId(),
        wireId,
        actor: null,
        createdAt: tx.now,
      };
      const request = { subtype: 'set_permission_mode', mode: 'manual' };
      await tx.outbox.insert({ ...row, body: { kind: 'control', request } });
    });
    const reply = { subtype: 'success', request_id: wireId, response: { mode: 'plan' } };
    const confirmed = await session.emit({ type: 'response', requestId: wireId, ok: true, response: reply });
    expect(confirmed).toMatchObject({ mode: 'plan' });
    await session.emit({ type: 'mode-changed', mode: 'plan' });
    expect(session.events('mode-changed').map(({ mode }) => mode)).toEqual(['plan']);
  });

  it('is not idle while a background agent works or has an open request', async () => {
    const session = await busyTestSession();
    const agent = { taskId: 't1', type: 'local_agent', description: 'Look' };
    expect(await session.emit({ type: 'tasks', tasks: [agent] }, turnEnded())).toMatchObject({ state: 'busy' });
    expect(await session.emit(asked('r1'))).toMatchObject({ state: 'waiting' });
    const closed = await session.emit({ type: 'withdrawn', requestId: 'r1' }, { type: 'tasks', tasks: [] });
    expect(closed).toMatchObject({ state: 'idle' });
  });

  it('is idle while a background command runs, for example a dev server', async () => {
    const session = await busyTestSession();
    const server = { taskId: 't1', type: 'local_bash', description: 'npm run dev' };
    const record = await session.emit({ type: 'tasks', tasks: [server] }, turnEnded());
    expect(record).toMatchObject({ state: 'idle', backgroundTasks: [server] });
  });

  it('is busy again when the CLI begins a turn on its own', async () => {
    const session = await busyTestSession();
    await session.emit(turnEnded());
    const record = await session.emit({ type: 'turn-started', model: null, mode: 'plan', messageIds: [] });
    expect(record).toMatchObject({ state: 'busy', mode: 'plan', model: 'opus' });
  });

  it('is ended when the process has ended, and failed if the process never came up', async () => {
    const idle = await busyTestSession();
    await idle.emit(turnEnded());
    expect(await idle.end()).toMatchObject({ state: 'ended', launchId: null, lastTurn: { outcome: 'succeeded' } });
    const early = await beginTestSession();
    const end = { kind: 'not-started', reason: 'No such program.' } as const;
    const lastTurn = { outcome: 'failed', message: 'No such program.' };
    expect(await early.end(end)).toMatchObject({ state: 'failed', launchId: null, lastTurn });
  });

  const agent = { taskId: 't', type: 'local_agent', description: '' };
  const cutOff: [string, Reported[]][] = [
    ['a turn', []],
    ['an open request', [asked('r1')]],
    ['the work of a background agent', [{ type: 'tasks', tasks: [agent] }, turnEnded()]],
  ];
  it.each(cutOff)('is interrupted if the process ends during %s', async (_what, reported) => {
    const session = await busyTestSession();
    await session.emit(...reported);
    const lastTurn = { outcome: 'interrupted', message: 'The process is gone.' };
    expect(await session.end()).toMatchObject({ state: 'ended', lastTurn, backgroundTasks: [] });
    expect((await session.transcript()).at(-1)).toMatchObject({ kind: 'notice', code: 'process-ended' });
  });
});

describe('the events and the record of a session', () => {
  it('tell each new state once, and nothing if nothing changed', async () => {
    const session = await busyTestSession();
    await session.emit(turnEnded());
    const states = session.events('session-updated').map((summary) => summary.state);
    expect(states).toEqual(['starting', 'busy', 'idle']);
    const before = session.events('session-updated').length;
    await session.emit({ type: 'mode-changed', mode: 'default' });
    expect(session.events('session-updated')).toHaveLength(before);
    expect(session.events('mode-changed')).toEqual([]);
  });

  it('name the conversation that a resume continues', async () => {
    const session = await busyTestSession();
    await session.emit({ type: 'conversation', sessionId: 's1' });
    await session.emit({ type: 'conversation', sessionId: 's2' }); // after a /clear
    expect(await session.record()).toMatchObject({ sessionId: 's2' });
  });
});

describe('the transcript', () => {
  it('has an entry for everything a person should read, in order, and names blocks as the stream does', async () => {
    const session = await busyTestSession();
    const block = { type: 'block', apiMessageId: 'm1', parentToolUseId: null } as const;
    await session.emit(
      { ...block, block: { kind: 'other' } },
      { ...block, block: { kind: 'text', text: 'I make it.' } },
    );
    await session.emit(
      { ...block, block: { kind: 'tool-use', toolUseId: 'u1', toolName: 'Bash', input: { command: 'make' } } },
      {
        type: 'tool-result',
        parentToolUseId: null,
        toolUseId: 'u1',
        isError: false,
        text: 'done',
        allowedBy: null,
        sandboxFailure: null,
      },
      turnEnded(),
    );
    expect(await session.transcript()).toMatchObject([
      { index: 1, kind: 'user', text: 'Do it', by: 'Ada' },
      { index: 2, kind: 'text', text: 'I make it.', blockId: 'm1:1' },
      { index: 3, kind: 'tool-use', toolName: 'Bash' },
      { index: 4, kind: 'tool-result', text: 'done' },
      { index: 5, kind: 'turn-end', outcome: 'succeeded' },
    ]);
    expect(await session.record()).toMatchObject({ lastAction: 'Bash make', transcriptLength: 5 });
    expect(session.events('transcript-appended').map(({ index }) => index)).toEqual([1, 2, 5]);
  });

  it('numbers the blocks of each message separately, even if messages are printed in parallel', async () => {
    const session = await busyTestSession();
    const text = (apiMessageId: string) =>
      ({ type: 'block', apiMessageId, parentToolUseId: null, block: { kind: 'text', text: 'x' } }) as const;
    await session.emit(text('a'), text('b'), text('a'), text('constructor'), text('constructor'), text('b'));
    const ids = (await session.transcript()).flatMap((entry) => (entry.kind === 'text' ? [entry.blockId] : []));
    expect(ids).toEqual(['a:0', 'b:0', 'a:1', 'constructor:0', 'constructor:1', 'b:1']);
  });

  it('shows a message once, even if it is given to a second process', async () => {
    const session = await beginTestSession();
    await session.end();
    await session.begin();
    await session.emit(up());
    const users = (await session.transcript()).filter((entry) => entry.kind === 'user');
    expect(users).toHaveLength(1);
    const [message] = (await session.outbox()).filter((row) => row.kind === 'message');
    expect(message).toMatchObject({ state: 'accepted', wireId: users[0]?.kind === 'user' ? users[0].messageId : '' });
    expect(await session.emit(read(message?.wireId ?? ''), turnEnded())).toMatchObject({ state: 'idle' });
  });
});
