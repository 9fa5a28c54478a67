import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, it } from 'vitest';
import { createGitLab, type GitLab } from '../../../test/support/repository.ts';
import { prepareSandboxEnvironment, type SandboxEnvironment } from './sandbox.ts';

const run = promisify(execFile);
let lab: GitLab;
let worktree: string;
let prepared: SandboxEnvironment;
/** The environment of a command that Claude Code runs after reading the script. */
async function inShell(command: string, env: Record<string, string> = { SANDBOX_RUNTIME: '1' }): Promise<string> {
  const all = { ...lab.env, TMPDIR: lab.folder, ...env };
  const script = prepared.variables.CLAUDE_ENV_FILE ?? '';
  return (await run('bash', ['-c', `. '${script}'\n${command}`], { cwd: worktree, env: all })).stdout.trim();
}

beforeEach(async () => {
  lab = await createGitLab();
  worktree = await lab.repository("ada's shop");
  const own = join(lab.folder, 'own.sh');
  await writeFile(own, 'export OWN=1\n');
  const place = { dataDir: join(lab.folder, 'data'), projectId: 'shop', stageId: 'STAGE-1', worktree };
  prepared = await prepareSandboxEnvironment({ ...place, env: { CLAUDE_ENV_FILE: own } });
});

it('moves caches only inside the sandbox, and sources the user’s own script everywhere', async () => {
  const check = 'echo "$npm_config_cache $OWN"';
  expect(await inShell(check)).toBe(`${join(lab.folder, 'data/caches/shop/npm')} 1`);
  expect(await inShell(check, {})).toBe('1');
});

it('keeps npm from asking for a newer npm, unless the person wants that', async () => {
  const check = 'echo "$npm_config_update_notifier"';
  expect(await inShell(check)).toBe('false');
  expect(await inShell(check, { SANDBOX_RUNTIME: '1', npm_config_update_notifier: 'true' })).toBe('true');
  expect(await inShell(check, {})).toBe('');
});

it('adds to git’s existing environment configuration, and turns off its maintenance', async () => {
  const given = { SANDBOX_RUNTIME: '1', GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'a.b', GIT_CONFIG_VALUE_0: 'c' };
  expect(await inShell('git config a.b; git config gc.auto; git config maintenance.auto', given)).toBe('c\n0\nfalse');
});

it('makes git ignore the user’s ignored files and the placeholders, but no existing file', async () => {
  await lab.git(worktree, 'config', 'core.excludesFile', join(lab.folder, 'mine'));
  await writeFile(join(lab.folder, 'mine'), '*.log');
  for (const name of ['a.log', '.mcp.json']) await writeFile(join(worktree, name), '{}');
  expect(await inShell('git status --porcelain')).toBe('?? .mcp.json');
});

it('makes git ignore the placeholders of another command also outside the sandbox, and nothing else', async () => {
  await writeFile(join(worktree, '.zshrc'), '');
  await chmod(join(worktree, '.zshrc'), 0o444);
  await writeFile(join(worktree, '.mcp.json'), '');
  expect(await inShell('git status --porcelain', {})).toBe('?? .mcp.json');
  expect(await inShell('touch .bashrc; git status --porcelain', {})).toBe('?? .bashrc\n?? .mcp.json');
});
