import { type ClaudeProgram, identifyBinary, isSameBinary, readProgram } from '../claude/program/claude-program.ts';
import type { Logger } from '../lib/logger.ts';
import { readKnownPrograms, saveProgram } from './report-file.ts';

export interface ProgramCacheDeps {
  dataDir: string;
  log: Logger;
  /** The user's environment. */
  env: Record<string, string>;
  /** Rejects with OperationalError `claude_missing`. */
  findClaude: () => Promise<string>;
  /** Ends a run of the program. */
  signal: AbortSignal;
}

/** What the installed `claude` reports about itself, asked only once for each file. */
export interface ProgramCache {
  /**
   * Finds the program, and runs it only if its file has changed since it was last asked, before a restart included.
   * @throws OperationalError `claude_missing`; a system error when the file does not exist
   */
  current(): Promise<ClaudeProgram>;
  /** Makes the next call ask the program again. */
  invalidate(): void;
  /** A process reported this version: invalidates an entry with another version. */
  compareVersion(version: string): void;
}

export function createProgramCache({ dataDir, log, env, findClaude, signal }: ProgramCacheDeps): ProgramCache {
  let entry: { path: string; binary: ClaudeProgram['binary']; program: Promise<ClaudeProgram> } | null = null;
  let isInvalid = false;

  /** Concurrent callers share one run. */
  async function current(): Promise<ClaudeProgram> {
    const path = await findClaude();
    const binary = await identifyBinary(path);
    if (entry?.path === path && isSameBinary(entry.binary, binary)) return entry.program;
    const program = ask(path, binary);
    const own = { path, binary, program };
    entry = own;
    const forget = () => {
      if (entry === own) entry = null;
    };
    // A program that did not answer may do so the next time.
    program.then(({ version, flags }) => (version === null || flags === null) && forget(), forget);
    return program;
  }

  async function ask(path: string, binary: ClaudeProgram['binary']): Promise<ClaudeProgram> {
    const mayTrust = !isInvalid;
    isInvalid = false;
    const saved = (await readKnownPrograms(dataDir)).find((one) => mayTrust && isSameBinary(one.binary, binary));
    if (saved !== undefined) return { ...saved, path, flags: saved.flags === null ? null : new Set(saved.flags) };
    const program = await readProgram(path, env, signal);
    if (program.version !== null && program.flags !== null) await save(program);
    return program;
  }

  async function save({ binary, version, complaint, flags }: ClaudeProgram): Promise<void> {
    try {
      await saveProgram(dataDir, { binary, version, complaint, flags: flags === null ? null : [...flags] });
    } catch (error) {
      log.warn({ err: error }, 'the version and flags of claude could not be saved');
    }
  }

  function invalidate(): void {
    entry = null;
    isInvalid = true;
  }

  return {
    current,
    invalidate,
    compareVersion(version) {
      entry?.program.then(
        (program) => program.version !== version && invalidate(),
        () => undefined,
      );
    },
  };
}
