import { setTimeout as sleep } from 'node:timers/promises';
import { type ClaudeState, isClaudeAway } from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import { messageOf } from '@callboard/runtime/errors';
import {
  type ClaudeProgram,
  identifyBinary,
  isSameBinary,
  readProgram,
  tooOld,
} from '../core/claude/claude-program.ts';
import { missingFlags } from '../core/claude/launch-options.ts';
import { OperationalError } from '../lib/errors.ts';
import type { Logger } from '../platform/runtime.ts';
import type { HandshakeOptions } from './handshake.ts';
import type { LoginWatch } from './login-watch.ts';
import { coversAll, knownReport } from './promises.ts';
import {
  type HandshakeReport,
  lacksOf,
  readKnownPrograms,
  readLastReports,
  regressionOf,
  saveProgram,
  saveReport,
} from './report.ts';

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
  const trialEnded = createEmitter<Tried | null>();
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
      trialEnded.emit(version === null || report === null ? null : { version, gaps: gapsOf(program, report) });
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
    onTried: trialEnded.subscribe,
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

export interface BackgroundTrialDeps {
  dataDir: string;
  log: Logger;
  /** `PATH` for the program. */
  path: string | undefined;
  /** How long after it was planned a trial begins. */
  delayMs: number;
  limits: HandshakeOptions['limits'];
  /** Ends the running trial. */
  signal: AbortSignal;
  /** A trial has ended, with this report; null if it could not be done. */
  onEnded: (program: ClaudeProgram, report: HandshakeReport | null) => void;
}

/** Tries programs with the handshake in the background, each file once. */
export interface BackgroundTrials {
  plan(program: ClaudeProgram): void;
  /** Why the last trial could not be done, for people to read; null if it could. */
  complaint(): string | null;
  /** Resolves when no trial runs and none is planned. Never rejects. */
  idle(): Promise<void>;
}

function createBackgroundTrials(deps: BackgroundTrialDeps): BackgroundTrials {
  const { dataDir, log, path, delayMs, limits, signal, onEnded } = deps;
  /** Files that were tried since Callboard started, or will be. */
  const attempted: ClaudeProgram['binary'][] = [];
  let complaint: string | null = null;
  let trials: Promise<void> = Promise.resolve();

  async function tryLater(program: ClaudeProgram): Promise<void> {
    try {
      await sleep(delayMs, undefined, { signal, ref: false });
      await tryNow(program);
      complaint = null;
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'claude could not be tried');
      complaint = `Claude Code ${program.version} is new to Callboard and could not be tried: ${messageOf(error)}. Run \`npx callboard doctor\` to try it there.`;
      onEnded(program, null);
    }
  }

  async function tryNow(program: ClaudeProgram): Promise<void> {
    const { version } = program;
    if (version === null) return;
    const options = { claude: program.path, version, path, signal, isQuiet: true, limits };
    const { runHandshake } = await import('./handshake.ts'); // not needed at a start, nor is the scripted model that it loads
    const report = await runHandshake(options);
    // On a busy machine something may take too long, so only a promise that fails twice counts as broken.
    const settled = lacksOf(report).length === 0 ? report : eitherCompatible(report, await runHandshake(options));
    await saveReport(dataDir, settled);
    onEnded(program, settled);
  }

  return {
    /** One at a time: each is a process of 200 MB. */
    plan(program) {
      if (attempted.some((one) => isSameBinary(one, program.binary))) return;
      attempted.push(program.binary);
      trials = trials.then(() => tryLater(program));
    },
    complaint: () => complaint,
    idle: () => trials,
  };
}

/** The second report, with every promise that was kept in the first one. */
function eitherCompatible(first: HandshakeReport, second: HandshakeReport): HandshakeReport {
  const saved = new Map(first.checks.filter(({ verdict }) => verdict === 'yes').map((check) => [check.id, check]));
  return { ...second, checks: second.checks.map((check) => saved.get(check.id) ?? check) };
}

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

function createProgramCache({ dataDir, log, env, findClaude, signal }: ProgramCacheDeps): ProgramCache {
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

/** Tells in words when Claude Code is found to be missing or not logged in, and when that is over. */
export function logClaudeUpdates(login: Pick<LoginWatch, 'state' | 'onChange'>, notify: (line: string) => void): void {
  let before = login.state();
  login.onChange(() => {
    const now = login.state();
    const line = updatesOf(before, now);
    before = now;
    if (line !== null) notify(line);
  });
}

function updatesOf(before: ClaudeState, now: ClaudeState): string | null {
  if (isClaudeAway(now)) return now.why;
  if (!isClaudeAway(before)) return null;
  return before.state === 'missing' ? 'Claude Code was found.' : 'Claude is logged in.';
}
