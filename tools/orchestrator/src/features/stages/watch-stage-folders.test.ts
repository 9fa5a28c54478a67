import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProjectId, type Stage, type StageFolder, StageId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { joinTestStore } from '../../../test/support/test-machines.ts';
import { openTestStore, sampleProject, silent } from '../../../test/support/test-store.ts';
import { newSession } from '../../core/session/new-session.ts';
import { requireProject } from '../../store/store.ts';
import { createProjects } from '../projects/projects.ts';
import { createStageImports, startStageFolders } from './import-stages.ts';

const SHOP = ProjectId.parse(sampleProject().id);

const text = (id: string, title: string, more = '') => `---\nid: ${id}\ntitle: ${title}\n${more}---\nDo ${title}.\n`;

/** A repository with a folder of one stage, which is imported and watched. */
async function scene() {
  const repo = await temporaryFolder();
  const { store, events } = await openTestStore();
  await store.transact((tx) => tx.projects.save(sampleProject({ path: repo })));
  const folder = join(repo, 'stages');
  await mkdir(join(folder, 'deep'), { recursive: true });
  const write = (name: string, content: string) => writeFile(join(folder, name), content);
  await write('a.md', text('A', 'First', 'auto_start: true\n'));
  const imports = createStageImports({
    store,
    home: repo,
    worktrees: { requireStartPoint: async () => undefined },
    pipelinesFor: async () => ({ problems: [], isAgreed: true, pipelines: [], at: null }),
  });
  const projects = createProjects({ store, worktrees: {} as never, home: repo, dataDir: repo }); // none is called
  let passes = 0;
  const counted = {
    follow: (...args: Parameters<typeof imports.follow>) => imports.follow(...args).finally(() => (passes += 1)),
  };
  const begin = (mayWatch = () => true) => {
    const stop = startStageFolders({ store, log: silent, imports: counted, home: repo, quietMs: 20, mayWatch });
    onTestFinished(stop);
    return stop;
  };
  await imports.run(SHOP, 'stages');
  await projects.watchFolder(SHOP, 'stages');
  return {
    repo,
    folder,
    store,
    events,
    write,
    projects,
    begin,
    passes: () => passes,
    stage: async (id: string): Promise<Stage | null> => store.read.stages.find(StageId.parse(id)),
    updates: async (): Promise<StageFolder | undefined> => (await requireProject(store.read, SHOP)).stageFolders[0],
  };
}

it('follows changed, new and broken files, and says which are gone', async () => {
  const { begin, write, stage, updates, folder } = await scene();
  begin();
  await expect.poll(updates).toMatchObject({ path: 'stages', problems: [], removed: [], kept: [] });
  await write('a.md', text('A', 'Better', 'depends_on: [B]\npriority: 0\n'));
  await write('deep/b.md', text('B', 'Second'));
  await expect
    .poll(() => stage('A'))
    .toMatchObject({ title: 'Better', prompt: 'Do Better.', dependsOn: ['B'], priority: 0 });
  expect(await stage('B')).toMatchObject({ title: 'Second' });

  await write('a.md', '---\nid: A\n---\nNo title.\n');
  await expect
    .poll(updates)
    .toMatchObject({ problems: [expect.stringContaining('a.md: title is missing')], removed: [] });
  expect(await stage('A')).toMatchObject({ title: 'Better' });
  await write('a.md', text('A', 'Mended', 'status: Complete\n'));
  await expect.poll(() => stage('A')).toMatchObject({ title: 'Mended', completedAt: expect.any(String) });

  await rm(join(folder, 'deep'), { recursive: true });
  await expect.poll(updates).toMatchObject({ problems: [], removed: [join(folder, 'deep', 'b.md')] });
  expect(await stage('B')).toMatchObject({ title: 'Second' });
});

it('keeps what somebody wrote here until the file itself changes, and what a started stage began with', async () => {
  const { begin, write, stage, store, updates } = await scene();
  await write('b.md', text('B', 'Second'));
  begin();
  await expect.poll(() => stage('B')).not.toBeNull();
  const change = (id: string, fields: object) =>
    store.transact(async (tx) => {
      const found = await tx.stages.find(StageId.parse(id));
      if (found !== null) await tx.stages.update({ ...found, ...fields });
    });
  await change('A', { title: 'My own words' });
  const started = await stage('B');
  if (started === null) throw new Error('B is missing');
  await store.transact((tx) => tx.sessions.save(newSession(started, tx.now)));
  await write('b.md', text('B', 'Too late', 'status: Complete\n'));
  await expect.poll(() => stage('B')).toMatchObject({ title: 'Second', completedAt: expect.any(String) });
  expect(await stage('A')).toMatchObject({ title: 'My own words' });
  await change('B', { completedAt: null });
  await write('b.md', text('B', 'Later still'));
  await expect.poll(updates).toMatchObject({ kept: ['B'] });
  await write('a.md', text('A', 'From the file'));
  await expect.poll(() => stage('A')).toMatchObject({ title: 'From the file' });
});

it('never lets a file that nobody looked at start or allow anything', async () => {
  const { begin, write, stage } = await scene();
  begin();
  await write('c.md', text('C', 'Sneaky', 'auto_start: true\npermission_mode: bypassPermissions\nfinish: merge\n'));
  await expect.poll(() => stage('C')).toMatchObject({ autoStart: false, permissionMode: 'default', finish: null });
  await write('a.md', text('A', 'Changed', 'permission_mode: acceptEdits\n'));
  await expect.poll(() => stage('A')).toMatchObject({ title: 'Changed', autoStart: true, permissionMode: 'default' });
});

it('reads a storm of changes a few times, and a folder that stays the same changes nothing', async () => {
  const { begin, write, stage, events, passes } = await scene();
  begin();
  await expect.poll(passes).toBeGreaterThan(0);
  const before = passes();
  for (let n = 0; n < 100; n++) await write('a.md', text('A', `Version ${n}`));
  await expect.poll(() => stage('A')).toMatchObject({ title: 'Version 99' });
  expect(passes() - before).toBeLessThan(20);
  const reported = events.length;
  await write('a.md', text('A', 'Version 99'));
  const quiet = passes();
  await expect.poll(passes).toBeGreaterThan(quiet);
  expect(events.slice(reported).filter(({ type }) => type === 'stage-updated')).toEqual([]);
});

it('goes on after a restart with what changed meanwhile, and waits for a folder that is missing', async () => {
  const { begin, write, stage, updates, folder, projects } = await scene();
  const stop = begin();
  await expect.poll(updates).toMatchObject({ problems: [] });
  await stop();
  await write('a.md', text('A', 'While it was away'));
  begin();
  await expect.poll(() => stage('A')).toMatchObject({ title: 'While it was away' });
  await rename(folder, `${folder}-away`);
  await expect.poll(updates).toMatchObject({ problems: [expect.stringContaining('There is no file or folder')] });
  await writeFile(join(`${folder}-away`, 'a.md'), text('A', 'Back again'));
  await rename(`${folder}-away`, folder);
  await expect.poll(() => stage('A')).toMatchObject({ title: 'Back again' });
  await projects.update(SHOP, { settings: { stageFolders: [] } });
  await expect.poll(updates).toBeUndefined();
  await write('a.md', text('A', 'Nobody looks'));
  expect(await stage('A')).toMatchObject({ title: 'Back again' });
});

it('begins when there is news of a machine, and this one is to watch from now on', async () => {
  const { begin, store, write, stage, passes } = await scene();
  const { here, machines } = await joinTestStore(store, 2);
  let isFirst = false;
  begin(() => isFirst);
  await write('b.md', text('B', 'Second'));
  expect([await stage('B'), passes()]).toEqual([null, 0]);
  isFirst = true;
  await store.transact((tx) => machines.notify(tx, here));
  await expect.poll(() => stage('B')).toMatchObject({ title: 'Second' });
});
