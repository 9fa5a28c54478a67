import { dirname } from 'node:path';
import { ProjectId, type Stage } from '@callboard/contract';
import { expect, it } from 'vitest';
import { createScriptedHost } from '../../../../../test-support/code-host/scripted-host.ts';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { openTestStore, sampleProject } from '../../../test/support/test-store.ts';
import { newSession } from '../../core/session/new-session.ts';
import { createStages } from '../../core/session/stages.ts';
import { createHostIssues } from './pull-requests.ts';

const SHOP = ProjectId.parse(sampleProject().id);
const ISSUES = [
  { number: 7, title: 'Login form', body: 'The form is broken.', labels: ['bug'] },
  { number: 9, title: 'Dark mode', body: '', labels: [] },
];

async function scene(url: string | null = 'https://github.com/acme/shop.git', hasPrograms = true) {
  const host = await createScriptedHost(await temporaryFolder());
  host.change({ issues: ISSUES });
  const { store, events } = await openTestStore();
  const stages = createStages({
    store,
    worktrees: { requireStartPoint: async () => undefined },
    settingsOf: async () => ({ settings: { defaults: {} } }),
    pipelinesFor: async () => ({ problems: [], isAgreed: true, pipelines: [], at: null }),
  });
  const worktrees = {
    remote: async () => (url === null ? null : { name: 'origin', urls: [url] }),
    gitSettings: async () => [],
  };
  const env = { HOME: dirname(host.bin), PATH: hasPrograms ? host.bin : '/nonexistent' };
  const { signal } = new AbortController();
  const issues = createHostIssues({ store, worktrees, env, create: stages.create, signal });
  const stage = async (number: number): Promise<Stage | undefined> =>
    (await store.read.stages.list()).find(({ issue }) => issue?.number === number);
  return { host, store, events, stages, issues, stage };
}

it.each([
  ['github', 'https://github.com/acme/shop.git', 'https://github.com/acme/shop/issues/7'],
  ['gitlab', 'git@gitlab.com:acme/shop.git', 'https://gitlab.com/acme/shop/-/issues/7'],
])(
  'lists open issues of %s, with those that are stages already, and finds some by words and label',
  async (kind, remote, url) => {
    const { issues, store } = await scene(remote);
    const first = { number: 7, title: 'Login form', url, labels: ['bug'], author: 'grace', stageId: null };
    const listed = await issues.list(SHOP, {});
    expect(listed).toMatchObject({ host: kind, repository: expect.stringContaining('acme/shop'), problem: null });
    expect(listed.issues).toMatchObject([first, { number: 9 }]);
    expect((await issues.list(SHOP, { q: 'dark' })).issues).toMatchObject([{ number: 9 }]);
    expect((await issues.list(SHOP, { label: 'bug' })).issues).toMatchObject([{ number: 7 }]);
    const { ids } = await issues.take(SHOP, [7]);
    expect((await issues.list(SHOP, {})).issues).toMatchObject([{ stageId: ids[0] }, { stageId: null }]);
    expect(await store.read.stages.list()).toHaveLength(1);
  },
);

it('makes stages with title, text, number and link, each once however often it is asked', async () => {
  const { issues, stage, events } = await scene();
  const both = await Promise.all([issues.take(SHOP, [7, 9, 7]), issues.take(SHOP, [7])]);
  expect(both).toMatchObject([
    { created: 2, updated: 0, kept: [] },
    { created: 0, updated: 0, kept: [] },
  ]);
  const url = 'https://github.com/acme/shop/issues/7';
  expect(await stage(7)).toMatchObject({
    title: 'Login form',
    issue: { host: 'github', number: 7, url },
    prompt: `Resolve issue #7: Login form\n\nThe form is broken.\n\n${url}`,
  });
  expect((await stage(9))?.prompt).toBe('Resolve issue #9: Dark mode\n\nhttps://github.com/acme/shop/issues/9');
  expect(events.map(({ type }) => type)).toEqual(['stage-created', 'stage-created']);
});

it('brings a stage up to date, unless it was edited here or started', async () => {
  const { host, issues, stage, stages, store } = await scene();
  await issues.take(SHOP, [7, 9]);
  const rename = (title: string) => host.change({ issues: ISSUES.map((issue) => ({ ...issue, title })) });
  rename('Better words');
  expect(await issues.take(SHOP, [7])).toMatchObject({ created: 0, updated: 1, kept: [] });
  expect((await stage(7))?.title).toBe('Better words');
  const nine = await stage(9);
  if (nine === undefined) throw new Error('there is no stage of issue 9');
  await stages.update(nine.id, { title: 'My own words' });
  expect(await issues.take(SHOP, [9])).toMatchObject({ updated: 0, kept: [nine.id] });
  expect((await stage(9))?.title).toBe('My own words');
  const seven = await stage(7);
  if (seven === undefined) throw new Error('there is no stage of issue 7');
  await store.transact((tx) => tx.sessions.save(newSession(seven, tx.now)));
  rename('Too late');
  expect(await issues.take(SHOP, [7])).toMatchObject({ updated: 0, kept: [seven.id] });
});

it('keeps what it made when the host stops answering, and makes the rest when it is asked again', async () => {
  const { host, issues, store } = await scene();
  host.change({ failure: { when: 'view 9', stderr: 'error connecting to api.github.com', exitCode: 1 } });
  await expect(issues.take(SHOP, [7, 9])).rejects.toMatchObject({ code: 'code_host_unreachable' });
  expect(await store.read.stages.list()).toHaveLength(1);
  host.change({ failure: null });
  expect(await issues.take(SHOP, [7, 9])).toMatchObject({ created: 1, updated: 0 });
});

it('says why none can be listed, and what to do', async () => {
  const without = await scene(null);
  expect((await without.issues.list(SHOP, {})).problem).toMatchObject({
    code: 'no_remote',
    command: expect.stringContaining('remote add'),
  });
  await expect(without.issues.take(SHOP, [7])).rejects.toMatchObject({ code: 'no_remote' });
  const bare = await scene('https://github.com/acme/shop.git', false);
  expect((await bare.issues.list(SHOP, {})).problem).toMatchObject({
    code: 'no_code_host',
    message: expect.stringContaining('gh is not installed'),
  });
  const { host, issues } = await scene();
  host.change({ isLoggedIn: false });
  expect(await issues.list(SHOP, {})).toMatchObject({
    issues: [],
    repository: 'github.com/acme/shop',
    problem: { code: 'code_host_login', command: 'gh auth login --hostname github.com' },
  });
});
