import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Machine } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { createDatabase, postgresLack } from '../../../../test-support/postgres.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { launchesIn } from '../../../orchestrator/src/core/claude/claude-process.ts';
import { dataDirLayout } from '../../../orchestrator/src/platform/data-dir.ts';
import { findMarkedProcesses } from '../../../orchestrator/src/platform/process-table.ts';
import { createCluster } from '../../../orchestrator/test/support/cluster.ts';
import { gitThat } from '../../../orchestrator/test/support/git-that-dies.ts';
import type { Kit } from '../../../orchestrator/test/support/kit.ts';

/** Two machines, a stage on the second one for each title, at rest after its first turn, and what loses that machine. */
async function setUp(titles: readonly string[], before: (attic: Kit) => Promise<void> = async () => undefined) {
  const cluster = await createCluster(await createDatabase());
  const [desk, attic] = [await cluster.join('desk'), await cluster.join('attic')];
  const { client } = desk;
  await before(attic);
  const stages = new Map<string, { stageId: string; path: string }>();
  for (const title of titles) {
    const stageId = await desk.startStage(prompt({ steps: [{ text: 'Ready.' }] }), { machine: 'attic', title });
    await client.state(stageId, 'idle');
    await client.command('update_stage', { stageId, patch: { machine: null } });
    stages.set(title, { stageId, path: await pathOf(desk, stageId) });
  }
  const of = (title: string) => stages.get(title) ?? expect.fail(title);
  async function stopAndLose() {
    await attic.stop();
    await declareLost(desk);
  }
  return { desk, attic, client, of, lose: stopAndLose };
}

/** Waits until `attic` does not answer any more, and declares it lost. */
async function declareLost({ client }: Kit, withinMs = 15_000): Promise<void> {
  const { machines } = await client.command('get_machines');
  const machineId = machines.find(({ name }) => name === 'attic')?.id ?? expect.fail();
  const isAway = ({ machine }: { machine: Machine }) => machine.id === machineId && machine.state === 'unreachable';
  await client.event('machine-updated', isAway, { withinMs });
  await client.command('declare_machine_lost', { machineId });
}

async function pathOf({ client }: Kit, stageId: string): Promise<string> {
  return (await client.command('get_stage', { stageId })).stage.worktree?.path ?? expect.fail();
}

/** Starts it on the machine that is left, and waits until it has its worktree there. */
async function startElsewhere({ client }: Kit, stageId: string): Promise<void> {
  await client.command('start_stage', { stageId });
  await client.state(stageId, 'idle');
}

const noticesOf = async ({ client }: Kit, stageId: string, code: string) =>
  (await client.transcript(stageId)).flatMap((one) => (one.kind === 'notice' && one.code === code ? [one.text] : []));

const isClaimed = ({ machineId }: { machineId: string | null }) => machineId !== null;

const untilGone = (path: string) => until(`${path} is gone`, () => !existsSync(path));

const refsOf = (repo: string, stageId: string) =>
  git(repo, 'for-each-ref', '--format=%(refname)', `refs/callboard/turns/${stageId}`);

describe.skipIf(postgresLack !== '')(
  `the worktrees of a machine that was lost${postgresLack && ` (${postgresLack})`}`,
  () => {
    it('goes to the trash with all that is in it when its stage was started elsewhere, also one with a number at its end', async () => {
      const { desk, attic, of, lose } = await setUp(['moved'], async ({ dataDir, repo }) => {
        const taken = join(dataDir, 'worktrees', 'shop', 'STAGE-1'); // somebody else's
        await mkdir(taken, { recursive: true });
        await writeFile(join(taken, 'mine.txt'), 'mine');
        await writeFile(join(repo, '.git', 'info', 'exclude'), '*.env\n');
      });
      const { stageId, path } = of('moved');
      expect(basename(path)).toBe('STAGE-1-2');
      await writeFile(join(path, 'committed.txt'), 'committed\n');
      await git(path, 'add', '.');
      await git(path, 'commit', '--quiet', '-m', 'Never pushed');
      await writeFile(join(path, 'open.txt'), 'open\n');
      await writeFile(join(path, 'my.env'), 'KEY=1');
      await lose();
      await startElsewhere(desk, stageId);
      expect(existsSync(path)).toBe(true);

      await attic.start();
      await untilGone(path);
      await until('it was said', async () => (await noticesOf(desk, stageId, 'old-worktree')).length > 0);
      const [back] = await noticesOf(desk, stageId, 'machine-back');
      const saved =
        /^attic is back\. .* kept as the commit ([0-9a-f]{40})\./.exec(back ?? '')?.[1] ?? expect.fail(back);
      expect(await git(attic.repo, 'show', `${saved}:open.txt`)).toBe('open');
      expect(await git(attic.repo, 'show', `${saved}:committed.txt`)).toBe('committed');
      expect(await noticesOf(desk, stageId, 'old-worktree')).toEqual([
        expect.stringMatching(
          /^attic has removed its old worktree of this stage because the stage was started on desk\. Its contents stay in the trash of attic until \d{4}-\d\d-\d\d: 1 uncommitted file, 1 commit that is not merged, 1 file or folder that git ignores\. /,
        ),
      ]);
      expect(await git(attic.repo, 'worktree', 'list')).not.toContain(path);
      const { entries } = await attic.client.command('get_trash');
      expect(entries).toMatchObject([{ stageId, stageTitle: 'moved', by: null, worktree: null, fileCount: 1 }]);
      const elsewhere = await pathOf(desk, stageId);
      const restored = await attic.client.command('restore_trash', { trashId: entries[0]?.id ?? '' });
      expect(restored.folder.startsWith(`${attic.dataDir}/restored/`)).toBe(true); // not where the stage's worktree is on desk
      expect(await readFile(join(restored.folder, 'open.txt'), 'utf8')).toBe('open\n');
      expect(await readFile(join(restored.folder, 'committed.txt'), 'utf8')).toBe('committed\n');
      expect(await readFile(join(restored.folder, 'my.env'), 'utf8')).toBe('KEY=1');
      expect(existsSync(join(elsewhere, 'open.txt'))).toBe(false);
      expect(await readFile(join(attic.dataDir, 'worktrees', 'shop', 'STAGE-1', 'mine.txt'), 'utf8')).toBe('mine');
    });

    it('stays while its stage can go on in it, and goes when that is started elsewhere or deleted', async () => {
      const { desk, attic, client, of, lose } = await setUp(['moved', 'deleted', 'resumed']);
      const [moved, deleted, resumed] = [of('moved'), of('deleted'), of('resumed')];
      for (const { path } of [moved, deleted, resumed]) await writeFile(join(path, 'open.txt'), 'open\n');
      await lose();
      await attic.start();
      for (const { stageId } of [moved, deleted, resumed])
        await until('the machine has said what it found', async () =>
          (await noticesOf(desk, stageId, 'machine-back')).some((text) => text.includes('kept as the commit')),
        );
      const { worktrees } = await attic.client.command('get_worktrees', { projectId: attic.projectId });
      expect(worktrees.map(({ stageTitle, stays }) => [stageTitle, stays])).toEqual(
        ['moved', 'deleted', 'resumed'].map((title) => [title, expect.stringContaining('can go on in it')]),
      );

      await client.command('update_stage', { stageId: resumed.stageId, patch: { machine: 'attic' } });
      await startElsewhere(desk, resumed.stageId); // on attic
      expect(await pathOf(desk, resumed.stageId)).toBe(resumed.path);
      await client.command('update_stage', { stageId: moved.stageId, patch: { machine: 'desk' } });
      await git(attic.repo, 'worktree', 'lock', moved.path);
      await startElsewhere(desk, moved.stageId);
      await until('it was said that it stays', async () =>
        (await noticesOf(desk, moved.stageId, 'old-worktree')).some((text) =>
          text.includes('still has its old worktree'),
        ),
      );
      await git(attic.repo, 'worktree', 'unlock', moved.path); // which nobody tells Callboard
      await untilGone(moved.path);
      expect(await refsOf(attic.repo, deleted.stageId)).toContain('-lost-');
      await client.command('remove_stage', { stageId: deleted.stageId });
      await untilGone(deleted.path);
      await until('its refs are gone', async () => (await refsOf(attic.repo, deleted.stageId)) === '');
      expect((await attic.client.command('get_trash')).entries).toMatchObject([
        { stageTitle: 'deleted', work: { uncommitted: 1 } },
        { stageTitle: 'moved', work: { uncommitted: 1 } },
      ]);
      expect(existsSync(join(resumed.path, 'open.txt'))).toBe(true);

      // What was kept at its return is there for as long as the stage is.
      expect(await refsOf(attic.repo, moved.stageId)).toContain('-lost-');
      await client.command('stop_stage', { stageId: moved.stageId });
      await client.state(moved.stageId, 'ended');
      await client.command('remove_stage', { stageId: moved.stageId });
      await until('its refs are gone', async () => (await refsOf(attic.repo, moved.stageId)) === '');
    });

    it('has nothing run in it any more if its stage was deleted while its session went on', async () => {
      const { attic, client, of, lose } = await setUp(['deleted']);
      const { stageId, path } = of('deleted');
      await lose();
      const [launch] = await launchesIn(dataDirLayout(attic.dataDir).sessions);
      const isRunning = async () => (await findMarkedProcesses()).has(launch?.launchId ?? '');
      expect(await isRunning()).toBe(true);
      await client.command('remove_stage', { stageId });

      await attic.start();
      await until('its processes are ended', async () => !(await isRunning()));
      await untilGone(path);
    });

    it('is found by its machine also if it was lost before a start could say that it had made it', async () => {
      const cluster = await createCluster(await createDatabase());
      const desk = await cluster.join('desk');
      const folder = await temporaryFolder();
      const made = join(folder, 'made');
      const hangs = `"$real" "$@"; touch '${made}'; while test -e '${made}'; do sleep 0.1; done; exit 0`;
      const path = await gitThat(folder, process.env.PATH ?? '', 'worktree add', hangs);
      const attic = await cluster.join('attic', { where: 'apart', programs: path.split(':')[0] ?? '' });
      const folders = join(attic.dataDir, 'worktrees', 'shop');
      await mkdir(join(folders, 'STAGE-1'), { recursive: true });
      await writeFile(join(folders, 'STAGE-1', 'mine.txt'), 'mine'); // somebody else's
      const { client } = desk;
      const ids: string[] = [];
      const starts: Promise<unknown>[] = [];
      for (const title of ['made', 'waits for the first one']) {
        const fields = { projectId: 'shop', title, prompt: prompt({ steps: [{ text: 'Ready.' }] }), machine: 'attic' };
        ids.push((await client.command('create_stage', fields)).stage.id);
        starts.push(client.command('start_stage', { stageId: ids.at(-1) ?? '' }).catch(() => null));
        await until('git has made the first worktree', () => existsSync(made));
      }
      await until('both were begun', async () => (await client.command('get_board', {})).stages.every(isClaimed));
      await attic.kill();
      await rm(made);
      await Promise.all(starts);
      expect(await readdir(folders)).toEqual(['STAGE-1', 'STAGE-1-2']);

      await declareLost(desk, 45_000); // the lease of a process of its own has its usual length
      for (const stageId of ids) {
        await client.command('update_stage', { stageId, patch: { machine: 'desk' } });
        await startElsewhere(desk, stageId);
      }
      await attic.start();
      await untilGone(join(folders, 'STAGE-1-2'));
      const reported = async (nth: number) => noticesOf(desk, ids[nth] ?? '', 'old-worktree');
      await until('it is told', async () => (await reported(0)).length > 0);
      expect(await reported(0)).toEqual([
        'attic has removed its old worktree of this stage because the stage was started on desk. It had no unmerged work.',
      ]);
      expect(await reported(1)).toEqual([]);
      expect(await readFile(join(folders, 'STAGE-1', 'mine.txt'), 'utf8')).toBe('mine');
    });

    itAll(
      'goes at the start of its machine when its stage was deleted or completed meanwhile, and stays if git would lose something',
      async () => {
        const { desk, attic, client, of, lose } = await setUp(['locked', 'deleted', 'done']); // the first one keeps no other
        const [deleted, done, locked] = [of('deleted'), of('done'), of('locked')];
        for (const { path } of [deleted, done, locked]) await writeFile(join(path, 'open.txt'), 'open\n');
        await git(attic.repo, 'worktree', 'lock', locked.path);
        await lose();
        await attic.start();
        await until(
          'the machine is back',
          async () => (await noticesOf(desk, done.stageId, 'machine-back')).length > 0,
        );
        await attic.stop(); // what follows it hears of at its next start
        await client.command('remove_stage', { stageId: deleted.stageId });
        await client.command('complete_stage', { stageId: done.stageId });
        await startElsewhere(desk, locked.stageId);
        expect(existsSync(deleted.path)).toBe(true);

        await attic.start();
        for (const { path } of [deleted, done]) await untilGone(path);
        for (const { stageId } of [done, locked]) {
          await until(`${stageId} is told of`, async () => (await noticesOf(desk, stageId, 'old-worktree')).length > 0);
        }
        expect(await noticesOf(desk, done.stageId, 'old-worktree')).toEqual([
          expect.stringContaining('the stage is done'),
        ]);
        expect(await noticesOf(desk, locked.stageId, 'old-worktree')).toEqual([
          expect.stringMatching(
            /^attic still has its old worktree of this stage\. The worktree [^ ]+ was left in place .* it is locked\./,
          ),
        ]);
        expect(await readFile(join(locked.path, 'open.txt'), 'utf8')).toBe('open\n');

        await attic.stop();
        await git(attic.repo, 'worktree', 'unlock', locked.path);
        await attic.start();
        await untilGone(locked.path);
        await until('it is told', async () => (await noticesOf(desk, locked.stageId, 'old-worktree')).length === 2);
        expect(
          (await attic.client.command('get_trash')).entries.map(({ stageTitle }) => stageTitle).toSorted(),
        ).toEqual(['deleted', 'done', 'locked']);
      },
    );
  },
);
