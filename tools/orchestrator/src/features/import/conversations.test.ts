import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProjectId, StageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { openTestStore, sampleProject, stageId, withFields } from '../../../test/support/test-store.ts';
import { beginLaunch } from '../../core/launch/begin-launch.ts';
import { prepareWorktree } from '../../core/launch/prepare-launch.ts';
import { applyEvent } from '../../core/session/apply-agent-event.ts';
import { openChange, saveChange } from '../../core/session/change-session.ts';
import { createStages } from '../../core/session/stages.ts';
import { createWorktrees, type Worktrees } from '../../core/worktrees/worktrees.ts';
import { createConversations } from './import.ts';

const ID = '24796da1-60bd-44a0-8d5b-5f9cc495f972';
const LAST = '24796da1-60bd-44a0-8d5b-000000000002';
const SHOP = ProjectId.parse('shop');
const NO_SETTINGS = { settings: { defaults: {} }, problems: [], isAgreed: true, pipelines: [], at: null };
const NEW = StageId.parse('STAGE-1');

/** A repository with uncommitted changes, in which a conversation was held. */
async function scene() {
  const lab = await createGitLab();
  const repo = await lab.repository('shop');
  const said = (n: number, type: string, content: unknown) =>
    `${JSON.stringify({ parentUuid: null, type, message: { id: `m${n}`, content }, uuid: LAST.replace(/2$/, String(n)), timestamp: '2026-11-23T17:29:04.123Z', cwd: repo, gitBranch: 'main' })}\n`;
  const records = join(lab.folder, '.claude', 'projects', repo.replaceAll(/[^A-Za-z0-9]/g, '-'));
  await mkdir(records, { recursive: true });
  const chained = said(2, 'assistant', [{ type: 'text', text: 'Done.' }]).replace(
    'null',
    `"${LAST.replace(/2$/, '1')}"`,
  );
  await writeFile(join(records, `${ID}.jsonl`), said(1, 'user', 'Mend the login\nand more') + chained);
  await lab.commit(repo, 'old.txt', 'old');
  await writeFile(join(repo, 'old.txt'), 'changed');
  await writeFile(join(repo, 'new.txt'), 'new');
  const test = await openTestStore();
  const { store, platform } = test;
  await store.transact((tx) => tx.projects.save(sampleProject({ path: repo })));
  const dataDir = join(lab.folder, 'data');
  const worktrees = createWorktrees({ dataDir, env: lab.env });
  const stages = createStages({
    store,
    worktrees,
    settingsOf: async () => NO_SETTINGS,
    pipelinesFor: async () => NO_SETTINGS,
  });
  const conversations = createConversations({ store, worktrees, stages, dataDir, env: lab.env });
  const launch = (stage = NEW) =>
    store.transact((tx) => beginLaunch(tx, { platform, dataDir }, { stageId: stage, actor: 'Ada' }));
  const prepare = (some: Partial<Worktrees> = {}) => {
    const trust = { forLaunch: async () => ({}) as never }; // nothing here looks at it
    const baseOf = async () => ({ base: null, fetch: false });
    return prepareWorktree({ store, worktrees: withFields(worktrees, some), trust, baseOf }, { stageId: NEW });
  };
  return { ...test, lab, repo, worktrees, conversations, launch, prepare };
}

it('stores the stage, its session and what was said in one piece, once', async () => {
  const { conversations, store, events, launch } = await scene();
  const listed = await conversations.list(SHOP);
  expect(listed.folders).toMatchObject([{ branch: 'main', uncommitted: 2 }]);
  const both = await Promise.allSettled([1, 2].map(() => conversations.adopt(SHOP, { conversationId: ID })));
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(both[1]).toMatchObject({
    reason: { code: 'conversation_adopted', message: expect.stringContaining('STAGE-1') },
  });
  expect(await store.read.stages.list()).toMatchObject([
    {
      title: 'Mend the login',
      prompt: 'Mend the login\nand more',
      adopted: { lastEntry: 2 },
      origin: { isTaken: false },
    },
  ]);
  expect(events.map(({ type }) => type)).toEqual(['stage-created', 'transcript-appended', 'session-updated']);
  expect(await store.read.sessions.find(NEW)).toMatchObject({ state: 'ended', sessionId: null, lastTurn: null });
  const { conversation } = await launch();
  expect(conversation).toMatchObject({ fork: ID, until: LAST, start: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  expect(await store.read.outbox.countQueued(NEW)).toBe(0); // what was said is not said again
  await expect(conversations.adopt(SHOP, { conversationId: LAST })).rejects.toMatchObject({
    code: 'unknown_conversation',
  });
});

it('takes over the files of the folder as they were, wherever it is killed', async () => {
  const { conversations, prepare, worktrees, store, lab, repo } = await scene();
  await conversations.adopt(SHOP, { conversationId: ID });
  await lab.git(repo, 'checkout', '--quiet', '.');
  await lab.commit(repo, 'later.txt', 'later');
  const killed = async () => Promise.reject(new Error('killed'));
  for (const some of [
    { ensure: killed },
    { fill: killed },
    { fill: (...args: Parameters<Worktrees['fill']>) => worktrees.fill(...args).then(killed) },
    { dropRef: killed },
    { dropRef: (...args: Parameters<Worktrees['dropRef']>) => worktrees.dropRef(...args).then(killed) },
  ])
    await expect(prepare(some)).rejects.toThrow('killed');
  const { cwd } = await prepare();
  expect(await readFile(join(cwd, 'old.txt'), 'utf8')).toBe('changed');
  expect(await lab.git(cwd, 'status', '--porcelain')).toBe('M old.txt\n?? new.txt');
  expect(await lab.git(repo, 'for-each-ref', 'refs/callboard')).toBe('');
  expect((await store.read.stages.find(NEW))?.origin).toMatchObject({ isTaken: true, ref: null });
  await writeFile(join(cwd, 'old.txt'), 'by Claude');
  await prepare();
  expect(await readFile(join(cwd, 'old.txt'), 'utf8')).toBe('by Claude');
});

it('begins at the commit of the folder alone if the changes are to stay there', async () => {
  const { conversations, prepare, lab } = await scene();
  await conversations.adopt(SHOP, { conversationId: ID, uncommitted: false, title: 'Login' });
  const { cwd } = await prepare();
  expect(await lab.git(cwd, 'status', '--porcelain')).toBe('');
  expect(await readFile(join(cwd, 'old.txt'), 'utf8')).toBe('old');
});

it('copies the conversation again if its copy was never written, and says so when the original is gone as well', async () => {
  const { conversations, store, launch } = await scene();
  await conversations.adopt(SHOP, { conversationId: ID });
  const { launchId } = await launch();
  const notify = (...reported: Parameters<typeof applyEvent>[1][]) =>
    store.transact(async (tx) => {
      const change = await openChange(tx, stageId(NEW));
      const fixed = {
        worktree: '/w',
        mayHooksAllow: false,
        knowsAll: true,
        mayPeersWrite: false,
        onAlarm: () => undefined,
      };
      for (const event of reported)
        await applyEvent({ tx, change, launchId, ...fixed, sandbox: { isOn: false, autoAllows: false } }, event);
      return saveChange(tx, change);
    });
  await notify({ type: 'conversation', sessionId: 'the copy' });
  expect(await notify({ type: 'conversation-lost' })).toMatchObject({ sessionId: null, forkOf: { fork: ID } });
  expect(await notify({ type: 'conversation-lost' })).toMatchObject({ sessionId: null, forkOf: null });
  expect(await store.read.outbox.countQueued(NEW)).toBe(0);
  const entries = await store.read.transcript.page(NEW, { after: undefined, before: undefined, limit: 2 });
  expect(entries.map((entry) => ('text' in entry ? entry.text : ''))).toEqual([
    expect.stringContaining('copies the earlier conversation again'),
    expect.stringContaining('no longer has the earlier conversation'),
  ]);
});
