import { column } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { decide } from '../../../test/support/test-answers.ts';
import {
  asked,
  begun,
  busyTestSession,
  type Reported,
  read,
  type TestSession,
} from '../../../test/support/test-session.ts';
import { changeSession } from './change-session.ts';
import { acknowledgeDenial } from './tool-calls.ts';

const call = (toolUseId: string, command = 'npm run foo'): Reported => ({
  type: 'block',
  apiMessageId: `message-${toolUseId}`,
  parentToolUseId: null,
  block: { kind: 'tool-use', toolUseId, toolName: 'Bash', input: { command } },
});
const denied = (toolUseId: string, detail: string | null = null): Reported => ({
  type: 'call-denied',
  toolUseId,
  toolName: 'Bash',
  reason: 'It has been denied.',
  denial: { source: 'rule', detail },
});
const result = (toolUseId: string, wasReported = true, isError = true): Reported => ({
  type: 'tool-result',
  parentToolUseId: null,
  toolUseId,
  isError,
  text: 'denied',
  allowedBy: null,
  sandboxFailure: null,
  ...(wasReported && { wasReported: true as const }),
});
const ended = (calls: string[] = [], outcome: 'succeeded' | 'interrupted' = 'succeeded'): Reported => ({
  type: 'turn-ended',
  end: { outcome, message: null, durationMs: 5, costUsd: null, tokens: null, denied: calls },
});

async function columnOf(session: TestSession): Promise<string> {
  const [stage, record] = [await session.store.read.stages.find(session.stageId), await session.record()];
  if (stage === null) throw new Error('no stage');
  return column({ stage, session: record, pending: 0, unsettled: 0, isDone: () => true });
}
const logged = async ({ store }: TestSession, filter: object = {}) =>
  (await store.read.requests.decisions({ limit: 10, ...filter })).decisions;
const seen = ({ store, stageId }: TestSession) =>
  store.transact((tx) => changeSession(tx, stageId, (change) => acknowledgeDenial(change, tx.now, 'Ada')));

describe('a call that Claude Code itself denied', () => {
  it('is counted and logged once, with the rule that denied it', async () => {
    const session = await busyTestSession();
    await session.emit(call('t1'), denied('t1'), denied('t1'), result('t1'), ended(['t1']));
    expect(await session.record()).toMatchObject({ denials: 1 });
    expect(await logged(session)).toMatchObject([
      {
        asked: 'Bash npm run foo',
        outcome: 'denied',
        by: 'Claude Code',
        delivery: 'none',
        waitedMs: 0,
        denial: { source: 'rule', detail: null },
        reason: 'It has been denied.',
      },
    ]);
    expect(session.events('call-denied')).toHaveLength(1);
    expect(session.events('approval-resolved')).toEqual([]);
    expect((await session.transcript()).filter(({ kind }) => kind === 'decision')).toHaveLength(1);
    expect(await logged(session, { source: 'rule' })).toHaveLength(1);
    for (const source of ['person', 'hook', 'mode']) expect(await logged(session, { source })).toEqual([]);
  });

  it('is logged with the mode that denied it', async () => {
    const session = await busyTestSession();
    const byMode = { ...denied('t1'), denial: { source: 'mode', detail: null } } as Reported;
    await session.emit({ type: 'mode-changed', mode: 'dontAsk' }, call('t1'), byMode);
    expect(await logged(session)).toMatchObject([{ denial: { source: 'mode', detail: 'dontAsk' } }]);
  });

  it('needs a person if it was the last call of its turn, until a message is sent', async () => {
    const session = await busyTestSession();
    await session.emit(call('t1'), denied('t1', 'Bash(npm run *)'), result('t1'), ended());
    expect(await session.record()).toMatchObject({
      openDenial: { source: 'rule', detail: 'Bash(npm run *)', asked: 'Bash npm run foo' },
    });
    expect(await columnOf(session)).toBe('needs-you');
    await session.enqueue('Try another way');
    expect(await session.record()).toMatchObject({ state: 'busy', openDenial: null, denials: 1 });
    const message = (await session.outbox()).findLast(({ kind }) => kind === 'message')?.wireId ?? '';
    await session.emit(read(message), begun(message), ended());
    expect(await columnOf(session)).toBe('review');
  });

  it('is only counted if another call came after it', async () => {
    const session = await busyTestSession();
    const other = [call('t2', 'ls'), result('t2', true, false)];
    await session.emit(call('t1'), denied('t1'), result('t1'), ...other, ended(['t1']));
    expect(await session.record()).toMatchObject({ denials: 1, openDenial: null });
    expect(await columnOf(session)).toBe('review');
  });

  it('is only counted if the turn was interrupted', async () => {
    const session = await busyTestSession();
    await session.emit(call('t1'), denied('t1'), result('t1'), ended([], 'interrupted'));
    expect(await session.record()).toMatchObject({ denials: 1, openDenial: null });
  });

  it('needs nobody once a person took note of it; the transcript names that person', async () => {
    const session = await busyTestSession();
    await session.emit(call('t1'), denied('t1'), result('t1'), ended());
    await seen(session);
    expect(await columnOf(session)).toBe('review');
    expect((await session.transcript()).at(-1)).toMatchObject({
      code: 'denial-acknowledged',
      text: 'Ada acknowledged that Claude Code denied Bash npm run foo.',
    });
    await expect(seen(session)).rejects.toMatchObject({ code: 'no_denial' });
  });

  it('makes the next phase wait for a person, even without a gate', async () => {
    const pipeline = ['Design', 'Build'].map((name) => ({ name, prompt: name, gate: 'none' }));
    const session = await busyTestSession({ pipeline });
    await session.emit(call('t1'), denied('t1'), result('t1'), ended());
    expect(await session.record()).toMatchObject({ state: 'idle', atGate: true, phaseIndex: 0 });
    const notice = (await session.transcript()).at(-1);
    expect(notice).toMatchObject({ code: 'phase', text: expect.stringContaining('denied its last tool call') });
  });
});

describe('a release that reports denials only at the end of the turn', () => {
  it('counts the call, with an unknown source', async () => {
    const session = await busyTestSession();
    await session.emit(call('t1'), result('t1', false), ended(['t1', 'never-made']));
    expect(await session.record()).toMatchObject({ denials: 1, openDenial: { source: 'unknown' } });
    expect(await logged(session)).toMatchObject([{ asked: 'Bash npm run foo', denial: { source: 'unknown' } }]);
  });

  it('does not count a call that a person denied', async () => {
    const session = await busyTestSession();
    await session.emit(call('toolu_1'), asked('r1'));
    const response = { subtype: 'success', response: { behavior: 'deny', message: 'no' } };
    await decide(session, 'r1', response, {
      outcome: 'denied',
      by: 'Ada',
      reason: 'no',
      answers: null,
      updatedInput: null,
    });
    await session.emit(result('toolu_1', false), ended(['toolu_1']));
    expect(await session.record()).toMatchObject({ denials: 0, openDenial: null });
    expect(await logged(session, { source: 'person' })).toHaveLength(1);
  });

  it('does not count a call whose result already tells who denied it', async () => {
    const session = await busyTestSession();
    await session.emit(call('t1'), result('t1', true), ended(['t1'])); // the result says that a person denied it
    expect(await session.record()).toMatchObject({ denials: 0 });
  });
});
