import { realpath, stat } from 'node:fs/promises';
import { compareVersions } from '../../lib/versions.ts';
import { quoted, runClaude } from './run-claude.ts';

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
