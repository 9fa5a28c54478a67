import type { Environment } from '../edges.ts';
import { type Finding, ok, problem, warning } from './machine-check.ts';
import { ask } from './programs.ts';

const UPDATE = 'Install a newer git: https://git-scm.com/downloads';

/** @param env the user's own, as git is run in it. */
export async function checkGit(env: Environment): Promise<Finding> {
  const { exitCode, stdout } = await ask('git', ['--version'], env);
  if (exitCode === null) return problem('not found', 'Install git: https://git-scm.com/downloads');
  const [version, major, minor] = /(\d+)\.(\d+)[.\d]*/.exec(stdout) ?? [];
  if (version === undefined) return warning(`its version is not known: it says ${JSON.stringify(stdout)}`, UPDATE);
  const number = Number(major) * 1_000 + Number(minor);
  if (number < 2_005) return problem(`${version}, which knows no worktrees (2.5 does)`, UPDATE);
  if (number < 2_030) return warning(`${version}, with which Callboard is not tried (2.30 or newer)`, UPDATE);
  return ok(version);
}
