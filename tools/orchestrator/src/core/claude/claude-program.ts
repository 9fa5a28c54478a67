import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperationalError } from '../../lib/errors.ts';
import { compareVersions } from '../../lib/text.ts';
import { endMarked, LAUNCH_MARKER } from '../../platform/process-table.ts';
import { run } from '../../platform/processes.ts';

/** The oldest supported CLI, chosen from `docs/cli-versions.md`. An older one is refused with an explanation. */
export const OLDEST_CLAUDE = '2.1.212';

/** Tells one build of the program from another without running it. */
export interface BinaryIdentity {
  /** The real path, with symbolic links resolved. */
  path: string;
  mtimeMs: number;
  size: number;
}

/** What the program reports about itself. */
export interface ClaudeProgram {
  /** The path as it was found; this is what is run. */
  path: string;
  binary: BinaryIdentity;
  /** Null if it does not print one. */
  version: string | null;
  /** What it did instead of printing its version; null if it printed one. */
  complaint: string | null;
  /** The flags that its help lists, dashes included; null if it lists none. */
  flags: ReadonlySet<string> | null;
}

/** @throws a system error when the file does not exist */
export async function identifyBinary(path: string): Promise<BinaryIdentity> {
  const real = await realpath(path);
  const { mtimeMs, size } = await stat(real);
  return { path: real, mtimeMs, size };
}

export const isSameBinary = (a: BinaryIdentity, b: BinaryIdentity): boolean =>
  a.path === b.path && a.mtimeMs === b.mtimeMs && a.size === b.size;

/** Asks the program for its version and its flags. @throws a system error when the file does not exist */
export async function readProgram(
  path: string,
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<ClaudeProgram> {
  const binary = await identifyBinary(path);
  const [version, flags] = await Promise.all([readVersion(path, env, signal), readFlags(path, env, signal)]);
  return { path, binary, ...version, flags };
}

/** Asks the program for its flags only; null if its help lists none. Never throws. */
export async function readFlags(
  path: string,
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<ClaudeProgram['flags']> {
  return flagsIn((await runClaude(path, ['--help'], env, signal)).stdout);
}

/** Asks the program for its version only. Never throws. */
export async function readVersion(
  path: string,
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<Pick<ClaudeProgram, 'version' | 'complaint'>> {
  const { stdout, complaint } = await runClaude(path, ['--version'], env, signal);
  const version = /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/.exec(stdout)?.[1] ?? null;
  return { version, complaint: version === null ? (complaint ?? `it prints ${quoted(stdout)}`) : null };
}

/** The flags that a help text lists; null if there are none. */
export function flagsIn(help: string): ReadonlySet<string> | null {
  // A flag's names are at the beginning of a line; its description follows after two spaces.
  const names = help.split('\n').flatMap((line) => /^ {1,8}(-.*?)(?: {2}|$)/.exec(line)?.[1] ?? []);
  const listed = names.flatMap((text) => text.match(/--[a-z][a-z0-9-]*/g) ?? []);
  return listed.length === 0 ? null : new Set(listed);
}

/** Why sessions cannot start with this version, for a person to read; null if they can. An unknown version is accepted. */
export function tooOld({ path, version }: Pick<ClaudeProgram, 'path' | 'version'>): string | null {
  if (version === null || compareVersions(version, OLDEST_CLAUDE) >= 0) return null;
  return `Claude Code ${version} (${path}) is too old: Callboard needs ${OLDEST_CLAUDE} or newer. Run \`claude update\` or \`npm install -g @anthropic-ai/claude-code\`, then start the stage again.`;
}

export interface ClaudeOutput {
  stdout: string;
  /** Why it did not succeed, for a person to read; null if it did. */
  complaint: string | null;
}

const TIMEOUT_MS = 10_000;
const GRACE_MS = 1_000;

/** Runs `claude` to completion, for instance with `--version`, and ends everything it may have started. Never throws. */
export async function runClaude(
  program: string,
  args: string[],
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<ClaudeOutput> {
  const launchId = `doctor-${randomUUID()}`;
  const quiet = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
  const timeout = new AbortController();
  const job = { command: program, args, env: { ...env, ...quiet, [LAUNCH_MARKER]: launchId }, graceMs: GRACE_MS };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void endMarked([launchId], GRACE_MS).finally(() => timeout.abort());
  }, TIMEOUT_MS);
  const ending = signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, signal]);
  const { failed, stdout, stderr, exitCode, complaint } = await run(job, ending).finally(() => clearTimeout(timer));
  if (signal?.aborted) await endMarked([launchId], GRACE_MS); // what it had started survives it
  return { stdout, complaint: failed ? complaintOf() : null };

  function complaintOf(): string {
    if (isLate) return `it did not finish within ${TIMEOUT_MS / 1_000} s`;
    if (exitCode === null) return `it cannot be run: ${complaint?.split('\n', 1)[0] ?? 'unknown cause'}`;
    return stderr.trim() === '' ? `it exits with code ${exitCode}` : `it prints ${quoted(stderr)}`;
  }
}

/** The first line of a program's output, quoted for a sentence. */
const quoted = (text: string): string => JSON.stringify(text.trim().split('\n', 1)[0]?.slice(0, 120) ?? '');

/**
 * Finds the `claude` to run: the configured one, else the first on the user's own PATH, else the one in a
 * `node_modules/.bin` above this file.
 * @throws OperationalError `claude_missing` that says what to do
 */
export async function findClaude(configured: string | null, userPath: string | undefined): Promise<string> {
  if (configured !== null) {
    if (await isExecutable(configured)) return configured;
    throw new OperationalError(
      'claude_missing',
      `There is no program at ${configured}. Pass the path of the claude program with --claude.`,
    );
  }
  const onPath = (userPath ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, 'claude'));
  for (const candidate of [...onPath, ...bundled()]) if (await isExecutable(candidate)) return candidate;
  throw new OperationalError(
    'claude_missing',
    'Claude Code was not found. Install it (npm install -g @anthropic-ai/claude-code), or pass the path of the claude program with --claude.',
  );
}

function bundled(): string[] {
  const candidates: string[] = [];
  let folder = dirname(fileURLToPath(import.meta.url));
  while (folder !== dirname(folder)) {
    candidates.push(resolve(folder, 'node_modules', '.bin', 'claude'));
    folder = dirname(folder);
  }
  return candidates;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK); // a folder may pass this as well
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
