import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommentId, type StageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { testQueue } from '../../../test/support/test-queue.ts';
import { busyTestSession, read, turnEnded } from '../../../test/support/test-session.ts';
import { openTestStore, sampleProject, stageId as toStageId } from '../../../test/support/test-store.ts';
import { followLines } from '../../core/worktrees/file-changes.ts';
import { createWorktrees } from '../../core/worktrees/worktrees.ts';
import { createWorktreeFiles } from '../changes/changes.ts';
import { createCommentFollower, createComments, createViewed } from './comments.ts';

const TEN = Array.from({ length: 10 }, (_, n) => `line ${n + 1}`);
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`;

async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  await lab.commit(path, 'old.txt', text(TEN));
  const given = await openTestStore();
  const { store, platform } = given;
  const project = sampleProject({ path });
  await store.transact((tx) => tx.projects.save(project));
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const worktree = await worktrees.ensure(project, toStageId('S1'), null);
  const session = await busyTestSession({ worktree, projectId: project.id }, given);
  const { stageId } = session;
  const messages = testQueue(session);
  const comments = createComments({ store, platform, worktrees, messages });
  const onDiff = createCommentFollower({ store, worktrees, followLines });
  const files = createWorktreeFiles({ store, worktrees, onDiff });
  const write = (name: string, lines: readonly string[]) => writeFile(join(worktree.path, name), text(lines));
  const check = () => files.diff(stageId, {});
  const add = (line: number, fields: object = {}) =>
    comments.add(stageId, { path: 'old.txt', side: 'new', line, text: `About ${line}`, ...fields }, 'Ada');
  const list = () => comments.list(stageId, 'Ada');
  const states = async () => (await list()).map(({ state }) => state);
  const place = async () =>
    (await list()).map((one) => `${one.path} ${one.line}-${one.endLine}${one.hasMoved ? ' moved' : ''}`);
  return {
    ...lab,
    session,
    store,
    stageId,
    worktree,
    messages,
    comments,
    files,
    write,
    check,
    add,
    list,
    states,
    place,
  };
}

const unread = async (session: Awaited<ReturnType<typeof setUp>>['session']) =>
  (await session.queue()).map((message) => message.text);

it('keeps drafts for their author alone, with the lines that they are about', async () => {
  const { comments, session, stageId, write, add, list } = await setUp();
  await write('old.txt', [...TEN.slice(0, 4), 'new 5', ...TEN.slice(5)]);
  const one = await add(5);
  expect(one).toMatchObject({ author: 'Ada', quote: 'new 5', state: 'draft', endLine: 5, isMine: true });
  expect(await add(4, { side: 'old', endLine: 5 })).toMatchObject({ quote: 'line 4\nline 5' });
  expect(await add(1, { path: 'README.md' })).toMatchObject({ quote: '# Shop' }); // unchanged
  expect(session.events('comments-updated')).toHaveLength(3);
  expect(await list()).toHaveLength(3);
  expect(await comments.list(stageId, 'Bo')).toEqual([]);
  await expect(comments.edit(stageId, one.id, 'Mine', 'Bo')).rejects.toMatchObject({ code: 'not_your_comment' });
  expect(await comments.edit(stageId, one.id, 'Better', 'Ada')).toMatchObject({ text: 'Better' });
  await comments.remove(stageId, one.id, 'Ada');
  await expect(comments.remove(stageId, one.id, 'Ada')).rejects.toMatchObject({ code: 'unknown_comment' });
  expect(await list()).toHaveLength(2);
});

it('adds a repeated comment once, and refuses lines that are not there', async () => {
  const { comments, add, list, check, write } = await setUp();
  const id = CommentId.parse(randomUUID());
  const first = await add(1, { commentId: id });
  expect(await add(2, { commentId: id })).toEqual(first);
  expect(await list()).toHaveLength(1);
  for (const wrong of [{ line: 11 }, { line: 3, endLine: 2 }, { path: 'none.txt' }])
    await expect(add(1, wrong)).rejects.toMatchObject({ code: 'bad_request' });
  await expect(add(1, { tree: 'f'.repeat(40) })).rejects.toMatchObject({ code: 'head_moved' });
  await expect(comments.list('STAGE-99' as StageId, 'Ada')).rejects.toMatchObject({ code: 'unknown_stage' });
  const { base, tree } = await check();
  await write('old.txt', ['only one']);
  expect(await add(7, { base, tree })).toMatchObject({ quote: 'line 7' }); // as it was shown
});

it('follows the code, marks what has changed, and finds lines again that come back', async () => {
  const { write, check, add, place, worktree } = await setUp();
  await add(5, { endLine: 6 });
  await add(2, { side: 'old' });
  await write('old.txt', ['above', 'above', ...TEN]);
  await check();
  expect(await place()).toEqual(['old.txt 7-8', 'old.txt 2-2']);
  await write('old.txt', ['above', ...TEN.with(5, 'changed')]);
  await check();
  expect(await place()).toEqual(['old.txt 6-7 moved', 'old.txt 2-2']);
  await write('old.txt', TEN);
  await check();
  expect(await place()).toEqual(['old.txt 5-6', 'old.txt 2-2']);
  await rename(join(worktree.path, 'old.txt'), join(worktree.path, 'new.txt'));
  await check();
  expect(await place()).toEqual(['new.txt 5-6', 'new.txt 2-2']);
  await rm(join(worktree.path, 'new.txt'));
  await check();
  expect((await place())[0]).toMatch(/5-6 moved$/);
});

it('sends all drafts of a person as one message, and says when a turn has answered it', async () => {
  const { session, stageId, comments, add, states, write, check } = await setUp();
  await add(1);
  await add(3, { side: 'old' });
  await comments.add(stageId, { path: 'old.txt', side: 'new', line: 9, text: "Bo's own" }, 'Bo');
  const { message, comments: sent } = await comments.send(stageId, undefined, 'Ada');
  expect(message.status).toBe('queued');
  expect(sent).toMatchObject([{ state: 'sent', sentBy: 'Ada', isMine: false }, { state: 'sent' }]);
  const [queued, ...others] = await unread(session);
  expect(others).toEqual([]);
  expect(queued).toContain('old.txt, line 1:\n```\nline 1\n```\nAbout 1');
  expect(queued).toContain('old.txt, line 3 (in the version before your changes):');
  expect(queued).not.toContain("Bo's own");
  const ids = sent.map(({ id }) => id);
  expect((await comments.send(stageId, ids, 'Ada')).message.messageId).toBe(message.messageId); // the reply was lost
  expect(await unread(session)).toHaveLength(1);
  await expect(comments.send(stageId, undefined, 'Ada')).rejects.toMatchObject({ code: 'no_comments' });
  await expect(comments.edit(stageId, ids[0] ?? CommentId.parse('x'), 'No', 'Ada')).rejects.toMatchObject({
    code: 'comment_sent',
  });

  await session.emit(turnEnded()); // that of the prompt: only now is the message given to Claude
  expect(await states()).toEqual(['sent', 'sent']);
  await session.emit(read(message.messageId), turnEnded('failed'));
  expect(await states()).toEqual(['sent', 'sent']);
  await session.emit(turnEnded());
  expect(await states()).toEqual(['answered', 'answered']);
  await write('old.txt', ['mended', ...TEN.slice(1)]);
  await check();
  expect(await states()).toEqual(['outdated', 'answered']);
  expect(await comments.list(stageId, 'Bo')).toHaveLength(3);
});

it('returns comments to the drafts if their message leaves the queue unsent', async () => {
  const { session, stageId, comments, messages, add, states, store } = await setUp();
  await add(1);
  const first = await comments.send(stageId, undefined, 'Ada');
  await messages.remove(stageId, first.message.messageId);
  expect(await states()).toEqual(['draft']);
  await comments.send(stageId, undefined, 'Ada');
  const replaced = await messages.send(stageId, { message: 'Something else', mode: 'replace' }, 'Bo');
  expect(replaced.replaced).toHaveLength(1);
  expect(await states()).toEqual(['draft']);
  expect(await unread(session)).toEqual(['Something else']);
  expect(await store.read.drafts.listOf(stageId)).toEqual([]);
});

it('follows a message that an interrupt has taken back', async () => {
  const { session, stageId, comments, add, list } = await setUp();
  await session.emit(turnEnded());
  await add(1);
  const { message } = await comments.send(stageId, undefined, 'Ada');
  await session.emit({ type: 'message-progress', messageId: message.messageId, progress: 'cancelled' });
  const [queued] = await session.queue();
  expect(queued?.messageId).not.toBe(message.messageId);
  expect(await list()).toMatchObject([{ state: 'sent', messageId: queued?.messageId }]);
});

it('remembers for each person which version of a file was viewed', async () => {
  const { store, stageId, session } = await setUp();
  const viewed = createViewed({ store });
  await viewed.set(stageId, { path: 'a.txt', version: '1..2' }, 'Ada');
  expect(await viewed.set(stageId, { path: 'a.txt', version: '1..3' }, 'Ada')).toEqual({ 'a.txt': '1..3' });
  expect(await viewed.list(stageId, 'Bo')).toEqual({});
  expect(await viewed.set(stageId, { path: 'a.txt', version: null }, 'Ada')).toEqual({});
  expect(session.events('viewed-updated')).toHaveLength(3);
});
