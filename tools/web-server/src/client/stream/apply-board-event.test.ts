import type { BoardEvent, QueuedMessage } from '@callboard/contract';
import { CLAUDE_UNCHECKED, MessageId, RequestId } from '@callboard/contract';
import { QueryClient } from '@tanstack/react-query';
import { afterEach, expect, it } from 'vitest';
import { boardQuery, queueQuery, transcriptQuery } from '../data/queries.ts';
import { denialRetryQuery } from '../data/stage-commands.ts';
import { at, board, decision, entry, request, session, stage } from '../test/samples.ts';
import { applyEvent, applyNotices, resync } from './apply-board-event.ts';

const { id } = stage('STAGE-1');
const asked = request('STAGE-1', 'r1');
const cache = new QueryClient();
afterEach(() => cache.clear());

const event = (seq: number, data: Pick<BoardEvent, 'type' | 'data'>): BoardEvent =>
  ({ seq, at: at(seq), ...data }) as BoardEvent;
const message = (messageId: string, position: number): QueuedMessage => ({
  stageId: id,
  messageId: MessageId.parse(messageId),
  text: messageId,
  by: null,
  createdAt: at(0),
  position,
  attachments: [],
  isCommand: false,
});
const queued = () => cache.getQueryData(queueQuery(id).queryKey)?.queue.map((m) => m.messageId);

it('moves a card when a request arrives, and back when it is resolved', () => {
  const view = board({ stages: [{ stage: stage('STAGE-1') }] });
  cache.setQueryData(boardQuery.queryKey, view);
  const column = () => cache.getQueryData(boardQuery.queryKey)?.stages[0]?.column;
  applyEvent(cache, event(2, { type: 'approval-requested', data: asked }));
  expect(column()).toBe('needs-you');
  applyEvent(cache, event(3, { type: 'approval-resolved', data: decision(asked) }));
  expect(column()).toBe('ready');
});

it('ignores an event the board already has', () => {
  const view = board({ seq: 9, stages: [{ stage: stage('STAGE-1') }] });
  cache.setQueryData(boardQuery.queryKey, view);
  applyEvent(cache, event(9, { type: 'stage-removed', data: { stageId: id } }));
  expect(cache.getQueryData(boardQuery.queryKey)).toBe(view);
});

it('applies notices about the machine, and keeps them over the next event', () => {
  cache.setQueryData(boardQuery.queryKey, board({ stages: [{ stage: stage('STAGE-1') }] }));
  const sandbox = { state: 'fails', why: 'bwrap is missing', how: 'Install it.' } as const;
  applyNotices(cache, {
    warnings: ['The store cannot write.'],
    paused: 'The disk is nearly full.',
    startHolds: [],
    budgets: [],
    sandbox,
    claude: CLAUDE_UNCHECKED,
  });
  applyEvent(cache, event(2, { type: 'approval-requested', data: asked }));
  expect(cache.getQueryData(boardQuery.queryKey)).toMatchObject({
    seq: 2,
    warnings: ['The store cannot write.'],
    paused: 'The disk is nearly full.',
    sandbox,
  });
});

it('reloads the board if an event is missing', () => {
  const view = board({ stages: [{ stage: stage('STAGE-1') }] });
  cache.setQueryData(boardQuery.queryKey, view);
  applyEvent(cache, event(3, { type: 'approval-requested', data: asked }));
  expect(cache.getQueryData(boardQuery.queryKey)).toBe(view);
  expect(cache.getQueryState(boardQuery.queryKey)?.isInvalidated).toBe(true);
});

it('keeps the queue in order as messages are queued, sent and moved', () => {
  cache.setQueryData(queueQuery(id).queryKey, { queue: [message('b', 2)], held: false });
  applyEvent(cache, event(2, { type: 'message-queued', data: message('a', 1) }));
  expect(queued()).toEqual(['a', 'b']);
  applyEvent(
    cache,
    event(3, { type: 'message-sent', data: { stageId: id, messageId: message('a', 1).messageId, text: 'a' } }),
  );
  expect(queued()).toEqual(['b']);
  applyEvent(cache, event(4, { type: 'queue-updated', data: { stageId: id, queue: [message('c', 3)], held: true } }));
  expect(cache.getQueryData(queueQuery(id).queryKey)).toEqual({ queue: [message('c', 3)], held: true });
});

it('applies no event a second time: another tab may hold the stream now, and have known less', () => {
  cache.setQueryData(queueQuery(id).queryKey, { queue: [], held: false });
  const { messageId, text } = message('a', 1);
  const first = event(2, { type: 'message-queued', data: message('a', 1) });
  applyEvent(cache, first);
  applyEvent(cache, event(3, { type: 'message-sent', data: { stageId: id, messageId, text } }));
  applyEvent(cache, first);
  expect(queued()).toEqual([]);
});

it('applies the events of another log after a resync, whatever their numbers', () => {
  cache.setQueryData(queueQuery(id).queryKey, { queue: [], held: false });
  applyEvent(cache, event(9, { type: 'message-queued', data: message('a', 1) }));
  resync(cache, 1);
  applyEvent(cache, event(2, { type: 'message-queued', data: message('b', 2) }));
  expect(queued()).toEqual(['a', 'b']);
});

it('updates an answer’s delivery in the transcript', () => {
  const stored = entry(1, 'decision', { decision: decision(asked, { delivery: 'accepted' }) });
  cache.setQueryData(transcriptQuery(id).queryKey, { entries: [stored], total: 1 });
  applyEvent(cache, event(2, { type: 'decision-updated', data: decision(asked, { delivery: 'confirmed' }) }));
  expect(cache.getQueryData(transcriptQuery(id).queryKey)?.entries[0]).toMatchObject({
    decision: { delivery: 'confirmed' },
  });
});

it('reloads a transcript from scratch after lost events, since its last entries may be gone', () => {
  cache.setQueryData(transcriptQuery(id).queryKey, {
    entries: [entry(1, 'text', { text: 'Lost.', blockId: 'b1' })],
    total: 1,
  });
  resync(cache);
  expect(cache.getQueryData(transcriptQuery(id).queryKey)).toBeUndefined();
});

it('asks again whether a denied call can be allowed once what forbids it changes, and not at each event', async () => {
  const done = { ...stage('STAGE-1'), completedAt: at(0) };
  cache.setQueryData(boardQuery.queryKey, board({ stages: [{ stage: done, session: session('STAGE-1') }] }));
  const { queryKey } = denialRetryQuery({ stageId: id, requestId: RequestId.parse('denied:t1') });
  let seq = 1;
  const asksAgain = (data: Pick<BoardEvent, 'type' | 'data'>) => {
    cache.setQueryData(queryKey, { retry: { rules: [], whyNot: 'The stage is done.' } });
    seq += 1;
    applyEvent(cache, event(seq, data));
    return cache.getQueryState(queryKey)?.isInvalidated;
  };
  const reported = (change: Record<string, unknown>) =>
    asksAgain({ type: 'session-updated', data: session('STAGE-1', change) });
  const alarm = { code: 'foreign-rule', detail: 'A rule.', at: at(1) };
  const terminal = { by: 'Bo', since: at(1), command: 'claude' };
  expect(asksAgain({ type: 'stage-updated', data: { stageId: id, stage: { ...done, title: 'Other' } } })).toBe(false);
  expect(asksAgain({ type: 'stage-updated', data: { stageId: id, stage: stage('STAGE-1') } })).toBe(true);
  expect(reported({ state: 'idle' })).toBe(false);
  expect(reported({ state: 'idle', alarm })).toBe(true);
  expect(reported({ state: 'busy', alarm })).toBe(false);
  expect(reported({ state: 'busy' })).toBe(true);
  expect(reported({ state: 'busy', terminal })).toBe(true);
});
