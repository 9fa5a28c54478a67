import { messageOf } from '@callboard/runtime/errors';
import { missingFlags } from '../claude/launch/arguments.ts';
import { type ClaudeProgram, isSameBinary, tooOld } from '../claude/program/claude-program.ts';
import { OperationalError } from '../lib/errors.ts';
import { createBackgroundTrials } from './background-trials.ts';
import type { HandshakeOptions } from './handshake.ts';
import { coversAll, knownReport } from './known-versions.ts';
import { createProgramCache, type ProgramCacheDeps } from './program-cache.ts';
import { type HandshakeReport, lacksOf, regressionOf } from './report.ts';
import { readLastReports } from './report-file.ts';

export interface ClaudeWatchDeps extends Omit<ProgramCacheDeps, 'signal'> {
  /** How long after a start, or after an untried program was first seen, that program is tried. */
  trialDelayMs: number;
  /** For one promise, and for all. Generous, since a busy machine may be slow. */
  trialLimits?: HandshakeOptions['limits'];
}

/** What a launch needs to know about the program that it runs. */
export interface LaunchProgram {
  path: string;
  version: string | null;
  flags: ReadonlySet<string> | null;
  /** What it is known not to do, in short words for people. */
  gaps: readonly string[];
}

/** The result of a trial that ended after sessions were started with the program. */
export interface Tried {
  version: string;
  gaps: readonly string[];
}

/** Knows the installed `claude`: its version, its abilities, and what people must be told about it. */
export interface ClaudeWatch {
  /**
   * Returns the program to run now. Its file is checked each time; the program is asked only if the file has changed.
   * @throws OperationalError `claude_missing`, `claude_too_old`
   */
  program(): Promise<LaunchProgram>;
  /** Makes the next start ask the program again. */
  invalidate(): void;
  /** A process reported this version. A small file may launch another program, whose update does not change the file's date. */
  saw(version: string): void;
  /** Warnings about it for the board. Never throws. */
  warnings(): Promise<string[]>;
  /** Checks the program in the background, and tries it if nobody has. */
  begin(): void;
  /** Calls the listener when a trial has ended, with null if it could not be done. Returns a function that removes it. */
  onTried(listener: (tried: Tried | null) => void): () => void;
  /** Ends the running trial; resolves when nothing of it is left. */
  stop(): Promise<void>;
}

const TRIAL_LIMITS = { stepMs: 60_000, wholeMs: 600_000 };

export function createClaudeWatch(deps: ClaudeWatchDeps): ClaudeWatch {
  const { dataDir, log, env, trialDelayMs, trialLimits = TRIAL_LIMITS } = deps;
  const stopping = new AbortController();
  const listeners = new Set<(tried: Tried | null) => void>();
  const { signal } = stopping;
  const cache = createProgramCache({ ...deps, signal });
  const trials = createBackgroundTrials({
    dataDir,
    log,
    path: env.PATH,
    delayMs: trialDelayMs,
    limits: trialLimits,
    signal,
    onEnded(program, report) {
      const { version } = program;
      const tried = version === null || report === null ? null : { version, gaps: gapsOf(program, report) };
      for (const listener of listeners) listener(tried);
    },
  });

  return {
    async program() {
      const program = await cache.current();
      const refusal = tooOld(program);
      if (refusal !== null) throw new OperationalError('claude_too_old', refusal);
      const report = await reportOn(dataDir, program);
      if (report === null) trials.plan(program);
      const { path, version, flags } = program;
      return { path, version, flags, gaps: gapsOf(program, report) };
    },
    invalidate: cache.invalidate,
    saw: cache.compareVersion,
    async warnings() {
      try {
        const program = await cache.current();
        const refusal = tooOld(program);
        if (refusal !== null) return [refusal];
        const report = await reportOn(dataDir, program);
        const warning = gapsWarning(program, gapsOf(program, report), report, await readLastReports(dataDir));
        return [warning, trials.complaint()].filter((text) => text !== null);
      } catch {
        return []; // a missing program is reported where it is needed
      }
    },
    begin() {
      cache
        .current()
        .then(async (program) => {
          if (program.version === null || tooOld(program) !== null) return;
          if ((await reportOn(dataDir, program)) === null) trials.plan(program);
        })
        .catch((error: unknown) => log.info({ reason: messageOf(error) }, 'no claude found to check'));
    },
    onTried(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async stop() {
      stopping.abort(new Error('stopped'));
      await trials.idle();
    },
  };
}

/** What is known about how a program keeps the promises: tried on this machine, or before this Callboard was published. */
async function reportOn(dataDir: string, { version, binary }: ClaudeProgram): Promise<HandshakeReport | null> {
  if (version === null) return null;
  const reports = (await readLastReports(dataDir)).filter((one) => one.version === version);
  const own = reports.find((one) => one.binary !== null && isSameBinary(one.binary, binary));
  if (own !== undefined && coversAll(own.checks.map(({ id }) => id))) return own;
  return knownReport(version);
}

const gapsOf = (program: ClaudeProgram, report: HandshakeReport | null): string[] => [
  ...missingFlags(program.flags),
  ...(report === null ? [] : lacksOf(report)),
];

function gapsWarning(
  { version }: ClaudeProgram,
  gaps: readonly string[],
  report: HandshakeReport | null,
  others: readonly HandshakeReport[],
): string | null {
  if (gaps.length === 0) return null;
  const regression = report === null ? null : regressionOf(report, others);
  const since = regression === null ? '' : ` It no longer does everything that ${regression.since} did.`;
  return `Claude Code ${version} lacks features that Callboard relies on: ${gaps.join('; ')}.${since} Run \`npx callboard doctor\` for details.`;
}
