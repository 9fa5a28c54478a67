import { CommentId, MESSAGE_KEY, MessageDraft, MessageId } from '@callboard/contract';
import { fireEvent, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';
import { inNewTab } from '../../test/stores.ts';
import { useReviewUi } from '../changes/line-selection.ts';
import { EMPTY_DRAFT, useUnsaved } from './request-drafts.ts';

const messageBox = () => screen.findByRole<HTMLTextAreaElement>('textbox', { name: 'Message' });
const IDLE = { state: 'idle', sessionId: 'one', lastTurn: { outcome: 'succeeded', at: at(1), message: null } } as const;

const FIRST = '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e61';
let opened = 0;
const key = () => `callboard-unsent-message:STAGE-${opened}`;
const inBrowser = (): unknown => JSON.parse(localStorage.getItem(key()) ?? 'null')?.value ?? null;

interface Given {
  /** What an earlier page has left in this browser. */
  left?: { text: string; messageId: string; sentWith: string | null };
  /** The draft that the server has. */
  draft?: { text: string; messageId: string };
  /** The message that it has. */
  message?: string;
  /** Requests that never get a reply. */
  silent?: ('put_draft' | 'send_message')[];
}

/** Opens the page of a stage of its own: what was sent for another one may still be under way. */
function open({ left, draft: stored, message, silent = [] }: Given) {
  const own = stage(`STAGE-${++opened}`, { title: 'Login form' });
  if (left !== undefined) localStorage.setItem(key(), JSON.stringify({ at: Date.now(), value: left }));
  const { user, server } = openPage(
    `/stages/${own.id}`,
    board({ stages: [{ stage: own, session: session(own.id, IDLE) }] }),
  );
  const messages = new Map(message === undefined ? [] : [[FIRST, message]]);
  const kept = { draft: stored ?? null };
  const draft = (value: unknown) => ({ stageId: own.id, key: MESSAGE_KEY, value, updatedAt: at(2), writer: null });
  const never = () => new Promise<Response>(() => undefined);
  server.answer({
    get_transcript: () => ({ entries: [], total: 0 }),
    get_drafts: () => ({ drafts: kept.draft === null ? [] : [draft(kept.draft)] }),
    get_queue: () => ({ queue: [], held: false }),
    put_draft({ stageId, value }) {
      if (stageId !== own.id) return { draft: draft(null) }; // of a page before, which is being left
      if (silent.includes('put_draft')) return never();
      const wanted = MessageDraft.nullable().parse(value);
      const sent = messages.get(wanted?.messageId ?? '');
      if (sent !== undefined) return { draft: draft(null), sent };
      kept.draft = wanted;
      return { draft: draft(value) };
    },
    send_message({ messageId = '', message }) {
      const known = messages.get(messageId);
      if (known !== undefined && known !== message) return problem('message_id_reused', 'It belongs to another.');
      messages.set(messageId, message);
      if (kept.draft?.messageId === messageId) kept.draft = null;
      return silent.includes('send_message') ? never() : { status: 'sent', messageId: MessageId.parse(messageId) };
    },
  });
  return { user, kept, messages };
}

it('keeps a text in this browser at each key', async () => {
  const { user, kept } = open({ silent: ['put_draft'] });
  await user.type(await messageBox(), 'Half');
  expect(inBrowser()).toMatchObject({ text: 'Half', sentWith: null });
  await user.keyboard('!');
  expect(inBrowser()).toMatchObject({ text: 'Half!' });
  expect(kept.draft).toBeNull();
});

it('shows a text that an earlier page has left in this browser, and tells the server of it', async () => {
  const { kept } = open({ left: { text: 'Half a thought', messageId: FIRST, sentWith: null } });
  await expect.poll(async () => (await messageBox()).value).toBe('Half a thought');
  await expect.poll(() => kept.draft).toEqual({ text: 'Half a thought', messageId: FIRST });
  await expect.poll(inBrowser).toBeNull();
});

it('keeps a text that was left in this browser beside another one that was written on another device since', async () => {
  const messageId = crypto.randomUUID();
  const { kept } = open({
    left: { text: 'Mine', messageId: FIRST, sentWith: null },
    draft: { text: 'From the phone', messageId },
  });
  await expect.poll(async () => (await messageBox()).value).toBe('From the phone\n\nMine');
  await expect.poll(() => kept.draft).toMatchObject({ text: 'From the phone\n\nMine' });
});

it('sends a message under the id that its draft has on the server and in this browser', async () => {
  const { user, messages, kept } = open({ silent: ['send_message'] });
  await user.type(await messageBox(), 'Only once');
  await expect.poll(() => kept.draft?.text).toBe('Only once');
  const messageId = kept.draft?.messageId;
  await user.keyboard('{Enter}');
  expect(inBrowser()).toMatchObject({ text: 'Only once', messageId, sentWith: expect.any(String) });
  await expect.poll(() => [...messages]).toEqual([[messageId, 'Only once']]);
});

const SENT = { left: { text: 'Only once', messageId: FIRST, sentWith: '[false,[]]' }, message: 'Only once' };

it('does not show a text as a draft again that was sent by a page that was left before the reply', async () => {
  const { messages, kept } = open(SENT);
  await expect.poll(inBrowser).toBeNull();
  await expect.poll(async () => (await messageBox()).value).toBe('');
  expect([...messages.values(), kept.draft]).toEqual(['Only once', null]);
});

it('sends it under the same id if nobody knows yet whether it arrived', async () => {
  const { user, messages } = open({ ...SENT, silent: ['put_draft'] });
  const box = await messageBox();
  await expect.poll(() => box.value).toBe('Only once');
  await user.type(box, '{Enter}');
  await expect.poll(() => box.value).toBe('');
  expect([...messages]).toEqual([[FIRST, 'Only once']]);
});

it('sends a changed text as another message', async () => {
  const { user, messages } = open({ ...SENT, silent: ['put_draft'] });
  const box = await messageBox();
  await expect.poll(() => box.value).toBe('Only once');
  await user.type(box, ' more{Enter}');
  await expect.poll(() => [...messages.values()]).toEqual(['Only once', 'Only once more']);
});

it('sends a text of another device as another message if it was changed here and sent there', async () => {
  const { user, messages } = open({ draft: { text: 'Only once', messageId: FIRST }, message: 'Only once' });
  const box = await messageBox();
  await expect.poll(() => box.value).toBe('Only once');
  await user.type(box, ' more{Enter}');
  await expect.poll(() => [...messages.values()]).toEqual(['Only once', 'Only once more']);
  await expect.poll(() => box.value).toBe('');
});

it('does not send on the Enter that ends a composition, in Safari too', async () => {
  const { user, messages } = open({});
  const box = await messageBox();
  await user.type(box, 'にほん');
  fireEvent.keyDown(box, { key: 'Enter', keyCode: 229 });
  expect(box.value).toBe('にほん');
  await user.keyboard('{Enter}');
  await expect.poll(() => [...messages.values()]).toEqual(['にほん']);
});

it('keeps what is written for a request, and a comment, at each key as well', () => {
  const comment = {
    id: CommentId.parse('one'),
    path: 'a.ts',
    side: 'new',
    line: 1,
    endLine: 1,
    original: null,
  } as const;
  useUnsaved.getState().set('STAGE-1/ask', { ...EMPTY_DRAFT, reason: 'Because' });
  useReviewUi.getState().write('STAGE-1', { ...comment, text: 'Why', isAsked: false });
  useReviewUi.getState().setText('STAGE-1', 'Why so?');
  inNewTab();
  expect(useUnsaved.getState().byRequest['STAGE-1/ask']?.reason).toBe('Because');
  expect(useReviewUi.getState().writing['STAGE-1']?.text).toBe('Why so?');
  useUnsaved.getState().drop('STAGE-1/ask');
  useReviewUi.getState().write('STAGE-1', null);
  expect(Object.keys(localStorage).filter((name) => name.startsWith('callboard-unsent'))).toEqual([]);
});
