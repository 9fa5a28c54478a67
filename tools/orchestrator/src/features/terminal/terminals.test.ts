import { boardView } from '@callboard/contract';
import { expect, it } from 'vitest';
import { testQueue } from '../../../test/support/test-queue.ts';
import { asked, busyTestSession, type TestSession, turnEnded } from '../../../test/support/test-session.ts';
import { silent } from '../../../test/support/test-store.ts';
import { listDeferred, planStarts, resumeDeferred } from '../../core/launch/scheduler.ts';
import { Rejection } from '../../lib/errors.ts';
import { turnToFinish } from '../pull-requests/pull-requests.ts';
import { createTerminals, type TerminalsDeps } from './terminals.ts';

const STOPPED = { kind: 'stopped', reason: 'Ended to continue in a terminal, by Ada.' } as const;
const worktree = { path: '/w/S 1', branch: 'callboard/S1', base: 'f'.repeat(40) };
const KILLED = new Error('killed');

/** A session at rest with a conversation. `there`: a `claude` in the terminal. */
async function scene(deps: Partial<TerminalsDeps> = {}) {
  const session = await busyTestSession({ worktree, autoStart: true });
  await session.emit({ type: 'conversation', sessionId: 'c1' }, turnEnded());
  const given = { there: false, resumed: [] as string[] };
  const all: TerminalsDeps = {
    store: session.store,
    log: silent,
    requireInPlace: () => undefined,
    sessions: {
      stop: async () => void (await session.end(STOPPED)),
      resumeWith: async (_tx, _stageId, { body }) => given.resumed.push(body.text) > 0,
    },
    findProcess: async () => (given.there ? 4711 : null),
    saidAfter: async () => ({ entries: [], isCut: false }),
    ...deps,
  };
  const terminals = createTerminals(all);
  const leave = (order: object = {}) => terminals.leave(session.stageId, { actor: 'Ada', ...order });
  const { resumeWith } = all.sessions;
  const queue = testQueue(session, { resumeWith, withdrawIfGone: terminals.withdrawIfGone });
  const send = (message: string) => queue.send(session.stageId, { message }, 'Bo');
  const withdraw = () => terminals.withdraw(session.stageId);
  return { session, terminals, leave, withdraw, queue, send, given };
}

const notices = async (session: TestSession) =>
  (await session.transcript()).flatMap((entry) => (entry.kind === 'notice' ? [entry.code] : []));
const viewOf = async ({ store, stageId }: TestSession) => {
  const board = boardView(await store.boardOf(stageId));
  const [stage] = board.stages;
  if (stage === undefined) throw new Error(`no ${stageId}`);
  return { board, stage };
};

it('marks the session before its process is ended, and says what continues the conversation', async () => {
  const seen: unknown[] = [];
  const { session, leave } = await scene({
    sessions: {
      async stop() {
        seen.push(await session.record());
        await session.end(STOPPED);
      },
      resumeWith: async () => true,
    },
  });
  const { command, terminal } = await leave();
  expect(command).toBe("cd '/w/S 1' && claude --resume c1");
  expect(seen).toMatchObject([{ terminal: { by: 'Ada', since: terminal.since }, launchId: session.launchId() }]);
  expect(await session.record()).toMatchObject({ state: 'ended', terminal });
  expect((await viewOf(session)).stage.column).toBe('running');
  expect(session.events('session-updated').at(-1)?.terminal).toEqual(terminal);
});

it('starts nothing by itself while the conversation is in a terminal', async () => {
  const { session, leave, queue, send, given } = await scene();
  await leave();
  given.there = true;
  expect(await send('one')).toMatchObject({ status: 'queued' });
  const { store, stageId } = session;
  await store.transact(async (tx) => {
    const [row] = await tx.outbox.queueOf(stageId);
    if (row !== undefined) await tx.outbox.setBody(row.id, { ...row.body, awaitsRoom: true });
  });
  const resumeWith = async () => given.resumed.push('deferred') > 0;
  expect(await listDeferred(store.read)).toEqual([]);
  await resumeDeferred({ store, resumeWith, repeatIn: async () => undefined }, stageId);
  await expect(session.begin()).rejects.toMatchObject({ code: 'in_terminal' });
  await expect(queue.release(stageId, 'Bo')).rejects.toMatchObject({ code: 'in_terminal' });
  const { board, stage } = await viewOf(session);
  expect(planStarts(board.stages, 9, []).start).toEqual([]);
  expect(turnToFinish(stage)).toBeNull();
  expect(given.resumed).toEqual([]);
  expect((await session.queue()).map(({ text }) => text)).toEqual(['one']);
});

it('refuses while a turn runs and names what waits, and ends the turn on request', async () => {
  const { session, leave } = await scene();
  await session.enqueue('more');
  await session.emit(asked('r1'));
  await expect(leave()).rejects.toMatchObject({
    code: 'stage_running',
    message: expect.stringContaining('a request waits for an answer'),
  });
  expect((await session.record()).terminal).toBeNull();
  await leave({ endTurn: true });
  expect(await session.record()).toMatchObject({ state: 'ended', terminal: { by: 'Ada' } });
  expect(await session.pending()).toEqual([]);
});

it('gives no message to a process that is still being ended, and takes nothing back from it', async () => {
  const sent: unknown[] = [];
  const { session, leave, send, withdraw } = await scene({
    sessions: {
      async stop() {
        sent.push(await send('late'));
        await expect(withdraw()).rejects.toMatchObject({ code: 'in_terminal' });
        await session.end(STOPPED);
      },
      resumeWith: async () => true,
    },
  });
  await leave();
  expect(sent).toMatchObject([{ status: 'queued' }]);
  expect(await session.record()).toMatchObject({ terminal: { by: 'Ada' }, queued: 1, queueHeld: false });
});

it('keeps the mark through a kill before the process is ended, and the first mark when it is repeated', async () => {
  let kills = 1;
  const { session, leave } = await scene({
    sessions: {
      async stop() {
        if (kills-- > 0) throw KILLED;
        await session.end(STOPPED);
      },
      resumeWith: async () => true,
    },
  });
  await expect(leave()).rejects.toBe(KILLED);
  const { terminal } = await session.record();
  expect(terminal).toMatchObject({ by: 'Ada' });
  expect((await leave({ actor: 'Bo' })).terminal).toEqual(terminal);
  expect((await session.record()).launchId).toBeNull();
  expect((await notices(session)).filter((code) => code === 'in-terminal')).toHaveLength(1);
});

it('counts a process that ended while it was to be ended as ended', async () => {
  const { session, leave } = await scene({
    sessions: {
      async stop() {
        await session.end();
        throw new Rejection('not_running', 'It has ended.');
      },
      resumeWith: async () => true,
    },
  });
  await expect(leave()).resolves.toMatchObject({ terminal: { by: 'Ada' } });
});

it('keeps messages while somebody is there, and resumes with the first of them afterwards', async () => {
  const { session, leave, withdraw, send, given } = await scene();
  await leave();
  given.there = true;
  expect([await send('one'), await send('two')]).toMatchObject([{ status: 'queued' }, { status: 'queued' }]);
  await expect(withdraw()).rejects.toMatchObject({
    code: 'in_terminal',
    message: expect.stringContaining('process 4711'),
  });
  given.there = false;
  expect(await withdraw()).toBe('resumed');
  expect(given.resumed).toEqual(['one']);
  expect(await session.record()).toMatchObject({ terminal: null, costCounted: null });
  await expect(withdraw()).rejects.toMatchObject({ code: 'not_in_terminal' });
  expect(await notices(session)).toEqual(expect.arrayContaining(['in-terminal', 'taken-back']));
});

it('takes it back by a message once nobody is there', async () => {
  const { session, leave, send, given } = await scene();
  await leave();
  expect(await send('go on')).toMatchObject({ status: 'resumed' });
  expect(given.resumed).toEqual(['go on']);
  expect((await session.record()).terminal).toBeNull();
});

it('shows what was said in the terminal, and says so if it cannot be read', async () => {
  const asks: string[][] = [];
  const said = {
    kind: 'user',
    parentToolUseId: null,
    text: 'In the terminal',
    messageId: null,
    by: 'Terminal',
  } as const;
  const { session, leave, withdraw } = await scene({
    async saidAfter(conversationId, after) {
      asks.push([conversationId, after]);
      if (asks.length > 1) throw new Error('EACCES');
      return { entries: [{ at: after, entry: { ...said, attachments: [] } }], isCut: false };
    },
  });
  await leave();
  await withdraw();
  const endedAt = (await session.store.read.launches.listOf(session.stageId)).at(-1)?.endedAt;
  expect(asks).toEqual([['c1', endedAt]]);
  expect((await session.transcript()).slice(-3)).toMatchObject([
    { kind: 'user', text: 'In the terminal', by: 'Terminal' },
    { kind: 'turn-end', costUsd: null },
    { kind: 'notice', code: 'taken-back', text: expect.stringContaining('shown above') },
  ]);
  await leave();
  await withdraw();
  expect((await session.transcript()).at(-1)).toMatchObject({ text: expect.stringContaining('could not be read') });
});

it('leaves a queue that was held alone', async () => {
  const { session, leave, withdraw, given } = await scene();
  await session.enqueue('more');
  await session.enqueue('then this');
  await leave({ endTurn: true });
  expect(await session.record()).toMatchObject({ queueHeld: true });
  expect(await withdraw()).toBe('taken-back');
  expect(given.resumed).toEqual([]);
});

it('refuses a stage without a conversation, without a worktree, under alarm, or done', async () => {
  const { session, leave } = await scene();
  const { store, stageId } = session;
  const change = (fields: object) =>
    store.transact(async (tx) => {
      const stage = await tx.stages.find(stageId);
      if (stage !== null) await tx.stages.update({ ...stage, ...fields });
    });
  await change({ worktree: null });
  await expect(leave()).rejects.toMatchObject({ code: 'no_worktree' });
  await change({ worktree, completedAt: '2026-01-02T03:04:05.678Z' });
  await expect(leave()).rejects.toMatchObject({ code: 'already_done' });
  const fresh = await busyTestSession({ worktree });
  const other = createTerminals({
    store: fresh.store,
    log: silent,
    sessions: { stop: async () => undefined, resumeWith: async () => true },
    findProcess: async () => null,
    saidAfter: async () => null,
    requireInPlace: () => undefined,
  });
  await expect(other.leave(fresh.stageId, { actor: 'Ada' })).rejects.toMatchObject({ code: 'no_session' });
});
