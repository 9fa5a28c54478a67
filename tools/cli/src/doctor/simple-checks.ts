import type { SandboxSupport } from '@callboard/contract';
import type { Environment } from '@callboard/runtime/environment';
import { type Finding, ok, problem, warning } from './report.ts';
import { runProgram } from './run-program.ts';

/** The same number as in bin/callboard.js, which looks for a Node that is new enough. */
const OLDEST_NODE = 24;

export function checkNode(version: string, path: string): Finding {
  if (Number(version.split('.')[0]) >= OLDEST_NODE) return ok(`${version} (${path})`);
  return problem(
    `${version} (${path}); Callboard needs ${OLDEST_NODE} or newer`,
    'npm install (in the folder of Callboard)',
  );
}

const UPDATE_GIT = 'Install a newer git: https://git-scm.com/downloads';

/** @param env the user's own environment, which git gets as well */
export async function checkGit(env: Environment): Promise<Finding> {
  const { exitCode, stdout } = await runProgram('git', ['--version'], env);
  if (exitCode === null) return problem('not found', 'Install git: https://git-scm.com/downloads');
  const [version, major, minor] = /(\d+)\.(\d+)[.\d]*/.exec(stdout) ?? [];
  if (version === undefined) return warning(`unknown version: it prints ${JSON.stringify(stdout)}`, UPDATE_GIT);
  const number = Number(major) * 1_000 + Number(minor);
  if (number < 2_005) return problem(`${version} has no worktrees; Callboard needs 2.5 or newer`, UPDATE_GIT);
  if (number < 2_030) return warning(`${version}; Callboard is tested with 2.30 or newer`, UPDATE_GIT);
  return ok(version);
}

/** @param support the result of a command that was run in Claude Code's sandbox */
export function checkSandbox({ state, why, how }: SandboxSupport): Finding {
  if (state === 'works') return ok('works: a command ran in it');
  const advice = how ?? 'Sessions run without it: a forged answer is then noticed, not prevented.';
  return warning(`does not work. ${why ?? ''}`.trim(), advice);
}

const MEGABYTE = 1_000_000;
/** The memory of one session (measured: 162 to 219 MB). */
const PER_SESSION = 210 * MEGABYTE;
const ENOUGH_SESSIONS = 3;

/** @param available bytes that this machine, or the limit on this process, can still provide */
export function checkMemory(available: number): Finding {
  const sessions = Math.floor(available / PER_SESSION);
  const found = `${sizeOf(available)} free, enough for about ${sessions === 1 ? '1 session' : `${sessions} sessions`} at once`;
  if (sessions >= ENOUGH_SESSIONS) return ok(found);
  return warning(
    found,
    `Close other programs, or start fewer at once: callboard start --max-parallel ${Math.max(sessions, 1)}`,
  );
}

const sizeOf = (bytes: number) =>
  bytes >= 1_000 * MEGABYTE ? `${(bytes / (1_000 * MEGABYTE)).toFixed(1)} GB` : `${Math.floor(bytes / MEGABYTE)} MB`;

/** @param user the account of `--agent-user`, null for none */
export function checkAgentUser(user: string | null): Finding {
  if (user === null) return ok('claude runs as yourself');
  return problem(`running claude as ${user} is not supported yet`, 'Leave out --agent-user (CALLBOARD_AGENT_USER)');
}
