import { realpath, stat } from 'node:fs/promises';
import { compareVersions } from '../../lib/versions.ts';
import { askClaude, quoted } from './run-claude.ts';

/** The oldest CLI that Callboard works with: chosen from `docs/cli-versions.md`. An older one is refused in words. */
export const OLDEST_CLAUDE = '2.1.212';

/** What tells one build of the program from the next without running it. */
export interface BinaryIdentity {
  /** Where the path leads, symbolic links resolved. */
  path: string;
  mtimeMs: number;
  size: number;
}

/** What the program says of itself. */
export interface ClaudeProgram {
  /** As it was found: what is run. */
  path: string;
  binary: BinaryIdentity;
  /** Null when it does not tell. */
  version: string | null;
  /** What it did instead of telling its version; null when it did. */
  complaint: string | null;
  /** The options that its help lists, dashes included; null when it does not tell. */
  flags: ReadonlySet<string> | null;
}

/** @throws a system error where there is no such file */
export async function identifyBinary(path: string): Promise<BinaryIdentity> {
  const real = await realpath(path);
  const { mtimeMs, size } = await stat(real);
  return { path: real, mtimeMs, size };
}

export const isSameBinary = (a: BinaryIdentity, b: BinaryIdentity): boolean =>
  a.path === b.path && a.mtimeMs === b.mtimeMs && a.size === b.size;

/** Asks the program for its version and its options. @throws a system error where there is no such file */
export async function readProgram(
  path: string,
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<ClaudeProgram> {
  const binary = await identifyBinary(path);
  const [version, flags] = await Promise.all([readVersion(path, env, signal), readFlags(path, env, signal)]);
  return { path, binary, ...version, flags };
}

/** Asks the program for its options alone; null where it does not tell. Never throws. */
export async function readFlags(
  path: string,
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<ClaudeProgram['flags']> {
  return flagsIn((await askClaude(path, ['--help'], env, signal)).stdout);
}

/** Asks the program for its version alone; never throws. */
export async function readVersion(
  path: string,
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<Pick<ClaudeProgram, 'version' | 'complaint'>> {
  const { stdout, complaint } = await askClaude(path, ['--version'], env, signal);
  const version = /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/.exec(stdout)?.[1] ?? null;
  return { version, complaint: version === null ? (complaint ?? `it says ${quoted(stdout)}`) : null };
}

/** The options that a help text lists; null for a text that lists none. */
export function flagsIn(help: string): ReadonlySet<string> | null {
  // An option's names stand at the beginning of a line, its description two blanks further on.
  const names = help.split('\n').flatMap((line) => /^ {1,8}(-.*?)(?: {2}|$)/.exec(line)?.[1] ?? []);
  const listed = names.flatMap((text) => text.match(/--[a-z][a-z0-9-]*/g) ?? []);
  return listed.length === 0 ? null : new Set(listed);
}

/** Why sessions cannot be started with this version, in words; null when they can. One that does not tell its version is tried. */
export function tooOld({ path, version }: Pick<ClaudeProgram, 'path' | 'version'>): string | null {
  if (version === null || compareVersions(version, OLDEST_CLAUDE) >= 0) return null;
  return `Claude Code ${version} (${path}) is too old: Callboard needs ${OLDEST_CLAUDE} or newer. Run "claude update" or "npm install -g @anthropic-ai/claude-code", then start the stage again.`;
}
