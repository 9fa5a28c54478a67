import { shellQuote } from '@callboard/contract';
import type { Environment } from '@callboard/runtime/environment';
import { z } from 'zod';
import { type Finding, ok, problem, warning } from './report.ts';
import { runProgram } from './run-program.ts';

const Settings = z.object({ permissions: z.object({ allow: z.array(z.string()).min(1) }) });

/**
 * Checks whether stages can be started in the repository of a folder.
 * @param env the user's own environment, which git gets as well
 */
export async function checkRepository(path: string, env: Environment): Promise<Finding> {
  const git = (...args: string[]) => runProgram('git', ['-C', path, ...args], env);
  const top = await git('rev-parse', '--show-toplevel');
  if (top.exitCode === null)
    return problem('could not be checked: git was not found', 'Install git: https://git-scm.com/downloads');
  if (top.exitCode !== 0) return noRepository(path, top.stderr);
  if (top.stdout === '')
    return problem(
      `${path} is a repository without a working tree`,
      `git clone ${shellQuote(path)} and name the clone`,
    );
  const head = await git('log', '-1', '--format=%h %s');
  if (head.exitCode !== 0) {
    const advice = `git -C ${shellQuote(top.stdout)} add -A && git -C ${shellQuote(top.stdout)} commit -m "First commit"`;
    return problem(`${top.stdout} has no commit yet, so no worktree can be made from it`, advice);
  }
  const ignored = await ignoredRules(git);
  const found = `${top.stdout}, at ${head.stdout.slice(0, 60)}`;
  if (ignored.length === 0) return ok(found);
  const rules = `${ignored.slice(0, 3).join(', ')}${ignored.length > 3 ? ', ...' : ''}`;
  return warning(
    `${found}; Claude Code ignores what its .claude/settings.json allows (${rules}), because it does not know a stage's worktree yet`,
    'Allow these on the board when Claude asks, with "always"',
  );
}

function noRepository(path: string, complaint: string): Finding {
  if (/cannot change to/.test(complaint)) return problem(`there is no folder ${path}`, 'Name another one: --repo PATH');
  if (/dubious ownership/.test(complaint)) {
    return problem(
      `${path} belongs to another account: git refuses to use it`,
      `git config --global --add safe.directory ${shellQuote(path)}`,
    );
  }
  if (/not a git repository/.test(complaint)) {
    return problem(
      `${path} is not in a git repository`,
      `Name another one, or make one here: git -C ${shellQuote(path)} init`,
    );
  }
  return problem(
    `${path}: git says ${JSON.stringify(complaint.split('\n', 1)[0])}`,
    `git -C ${shellQuote(path)} status`,
  );
}

/** Returns the rules in the settings that a new worktree would have: those of the newest commit. */
async function ignoredRules(git: (...args: string[]) => Promise<{ stdout: string }>): Promise<string[]> {
  const { stdout } = await git('show', 'HEAD:.claude/settings.json');
  try {
    return Settings.safeParse(JSON.parse(stdout)).data?.permissions.allow ?? [];
  } catch {
    return [];
  }
}
