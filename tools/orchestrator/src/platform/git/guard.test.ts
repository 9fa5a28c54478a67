import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { createGitGuard } from './guard.ts';
import { trustOnFirstUse } from './locate-checkout.ts';
import { runGit } from './run-git.ts';

const git = (cwd: string, ...args: string[]) => promisify(execFile)('git', args, { cwd });

/** A guard on a new repository, and how often git was asked for its configuration. */
async function setUp() {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'callboard-guard-')));
  onTestFinished(() => rm(folder, { recursive: true }));
  const root = join(folder, 'shop');
  await mkdir(root);
  await git(root, 'init', '--quiet');
  const env = { PATH: process.env.PATH ?? '', HOME: folder };
  let reads = 0;
  const guard = createGitGuard({
    repositories: trustOnFirstUse(),
    env,
    hooksBase: join(folder, 'hooks'),
    run: (cwd, args, extra) => {
      if (args.includes('--list')) reads++;
      return runGit(cwd, args, { ...env, ...extra });
    },
  });
  return { root, guard, reads: () => reads };
}

it('reads a configuration of the usual files once, and again if one of them changes', async () => {
  const { root, guard, reads } = await setUp();
  await guard.inspect(root);
  await guard.prepare(root, ['status'], {});
  expect(reads()).toBe(1);
  await git(root, 'config', 'user.name', 'Ada');
  await guard.inspect(root);
  expect(reads()).toBe(2);
});

it('reads it again if other files matter, so that no change of them goes unnoticed', async () => {
  const { root, guard, reads } = await setUp();
  await writeFile(join(root, 'more.conf'), '[user]\n  name = Ada\n');
  await git(root, 'config', 'include.path', join(root, 'more.conf'));
  await guard.inspect(root);
  expect(reads()).toBe(2);
  await writeFile(join(root, 'more.conf'), '[core]\n  fsmonitor = ./evil.sh\n');
  await guard.inspect(root);
  expect(reads()).toBe(4);
  const { args, env } = await guard.prepare(root, ['status'], {});
  expect(JSON.stringify({ args, env })).not.toContain('evil');
  expect(reads()).toBe(4);
});
