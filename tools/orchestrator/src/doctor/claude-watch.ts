import { setTimeout as sleep } from 'node:timers/promises';
import { missingFlags } from '../claude/launch/arguments.ts';
import {
  type ClaudeProgram,
  identifyBinary,
  isSameBinary,
  readProgram,
  tooOld,
} from '../claude/program/claude-program.ts';
import { messageOf, OperationalError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { HandshakeOptions } from './handshake.ts';
import { coversAll, knownReport } from './known-versions.ts';
import { type HandshakeReport, lacksOf, regressionOf } from './report.ts';
import { readKnownPrograms, readLastReports, saveProgram, saveReport } from './report-file.ts';

export interface ClaudeWatchParts {
  dataDir: string;
  log: Logger;
  /** The user's environment. */
  env: Record<string, string>;
  /** Rejects with OperationalError `claude_missing`. */
  findClaude: () => Promise<string>;
  /** How long after a start, or after a new program was seen, one that nobody has tried is tried. */
  trialDelayMs: number;
  /** For one promise, and for all: a machine that is at work may be slow. */
  trialLimits?: HandshakeOptions['limits'];
}

/** What a launch needs to know of the program that it runs. */
export interface LaunchProgram {
  path: string;
  version: string | null;
  flags: ReadonlySet<string> | null;
  /** What it is known not to do, in short words for people. */
  gaps: readonly string[];
}

/** What was found out of the program after sessions were started with it. */
export interface Tried {
  version: string;
  gaps: readonly string[];
}

/** Knows the installed `claude`: its version, what it can do, and what of that people have to be told. */
export interface ClaudeWatch {
  /**
   * The program to run now. Its version is looked at each time, and asked for only when the file has changed.
   * @throws OperationalError `claude_missing`, `claude_too_old`
   */
  program(): Promise<LaunchProgram>;
  /** What is believed of the program is doubted: it is asked anew at the next start. */
  doubt(): void;
  /** A process told this version. A small file may be a door to another program: its own date says nothing of that. */
  saw(version: string): void;
  /** What people at the board should know of it. Never throws. */
  warnings(): Promise<string[]>;
  /** Looks at the program, and tries one that nobody has tried, in the background. */
  begin(): void;
  /** Called when a trial has ended. Returns how to stop listening. */
  onTried(listener: (tried: Tried | null) => void): () => void;
  /** Ends the trial that runs; resolves when nothing of it is left. */
  stop(): Promise<void>;
}

const PATIENT = { stepMs: 60_000, wholeMs: 600_000 };

export function createClaudeWatch(parts: ClaudeWatchParts): ClaudeWatch {
  const { dataDir, log, env, findClaude, trialDelayMs, trialLimits = PATIENT } = parts;
  const stopping = new AbortController();
  const listeners = new Set<(tried: Tried | null) => void>();
  /** Files that were tried since we were started, or are going to be. */
  const attempted: ClaudeProgram['binary'][] = [];
  let known: { path: string; binary: ClaudeProgram['binary']; program: Promise<ClaudeProgram> } | null = null;
  let isDoubted = false;
  let complaint: string | null = null;
  let trials: Promise<void> = Promise.resolve();

  function doubt(): void {
    known = null;
    isDoubted = true;
  }

  /** Starts at the same time ask once. */
  async function look(): Promise<ClaudeProgram> {
    const path = await findClaude();
    const binary = await identifyBinary(path);
    if (known?.path === path && isSameBinary(known.binary, binary)) return known.program;
    const program = ask(path, binary);
    const own = { path, binary, program };
    known = own;
    const forget = () => {
      if (known === own) known = null;
    };
    // One that did not tell may do so when it is asked again.
    program.then(({ version, flags }) => (version === null || flags === null) && forget(), forget);
    return program;
  }

  async function ask(path: string, binary: ClaudeProgram['binary']): Promise<ClaudeProgram> {
    const mayTrust = !isDoubted;
    isDoubted = false;
    const kept = (await readKnownPrograms(dataDir)).find((one) => mayTrust && isSameBinary(one.binary, binary));
    if (kept !== undefined) return { ...kept, path, flags: kept.flags === null ? null : new Set(kept.flags) };
    const program = await readProgram(path, env, stopping.signal);
    if (program.version !== null && program.flags !== null) await keep(program);
    return program;
  }

  async function keep({ binary, version, complaint, flags }: ClaudeProgram): Promise<void> {
    try {
      await saveProgram(dataDir, { binary, version, complaint, flags: flags === null ? null : [...flags] });
    } catch (error) {
      log.warn({ err: error }, 'what claude said of itself could not be kept');
    }
  }

  /** What is known of how it keeps the promises: tried here, or by us before this Callboard was published. */
  async function reportOn({ version, binary }: ClaudeProgram): Promise<HandshakeReport | null> {
    if (version === null) return null;
    const reports = (await readLastReports(dataDir)).filter((one) => one.version === version);
    const own = reports.find((one) => one.binary !== null && isSameBinary(one.binary, binary));
    if (own !== undefined && coversAll(own.checks.map(({ id }) => id))) return own;
    return knownReport(version);
  }

  const gapsOf = (program: ClaudeProgram, report: HandshakeReport | null) => [
    ...missingFlags(program.flags),
    ...(report === null ? [] : lacksOf(report)),
  ];

  /** One at a time: each is a process of 200 MiB. */
  function planTrial(program: ClaudeProgram): void {
    if (attempted.some((one) => isSameBinary(one, program.binary))) return;
    attempted.push(program.binary);
    trials = trials.then(() => tryLater(program));
  }

  async function tryLater(program: ClaudeProgram): Promise<void> {
    try {
      await sleep(trialDelayMs, undefined, { signal: stopping.signal, ref: false });
      await tryOut(program);
      complaint = null;
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.warn({ err: error }, 'claude could not be tried out');
      complaint = `Claude Code ${program.version} is new to Callboard, and could not be tried out: ${messageOf(error)}. Run "npx callboard doctor".`;
      for (const listener of listeners) listener(null);
    }
  }

  async function tryOut(program: ClaudeProgram): Promise<void> {
    const { path, version } = program;
    if (version === null) return;
    const { signal } = stopping;
    const options = { claude: path, version, path: env.PATH, signal, isQuiet: true, limits: trialLimits };
    const { runHandshake } = await import('./handshake.ts'); // a start need not load it, nor the model that it talks to
    const report = await runHandshake(options);
    // On a machine that is at work something may take too long: what fails twice is told.
    const settled = lacksOf(report).length === 0 ? report : eitherHeld(report, await runHandshake(options));
    await saveReport(dataDir, settled);
    for (const listener of listeners) listener({ version, gaps: gapsOf(program, settled) });
  }

  return {
    async program() {
      const program = await look();
      const refusal = tooOld(program);
      if (refusal !== null) throw new OperationalError('claude_too_old', refusal);
      const report = await reportOn(program);
      if (report === null) planTrial(program);
      const { path, version, flags } = program;
      return { path, version, flags, gaps: gapsOf(program, report) };
    },
    doubt,
    saw(version) {
      known?.program.then(
        (program) => program.version !== version && doubt(),
        () => undefined,
      );
    },
    async warnings() {
      try {
        const program = await look();
        const refusal = tooOld(program);
        if (refusal !== null) return [refusal];
        const report = await reportOn(program);
        const told = gapsWords(program, gapsOf(program, report), report, await readLastReports(dataDir));
        return [told, complaint].filter((words) => words !== null);
      } catch {
        return []; // that there is none is told where it is needed
      }
    },
    begin() {
      look()
        .then(async (program) => {
          if (program.version === null || tooOld(program) !== null) return;
          if ((await reportOn(program)) === null) planTrial(program);
        })
        .catch((error: unknown) => log.info({ reason: messageOf(error) }, 'there is no claude to be looked at'));
    },
    onTried(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async stop() {
      stopping.abort(new Error('stopped'));
      await trials;
    },
  };
}

function gapsWords(
  { version }: ClaudeProgram,
  gaps: readonly string[],
  report: HandshakeReport | null,
  others: readonly HandshakeReport[],
): string | null {
  if (gaps.length === 0) return null;
  const regression = report === null ? null : regressionOf(report, others);
  const since = regression === null ? '' : ` It no longer does all that ${regression.since} did.`;
  return `Claude Code ${version} does not do all that Callboard relies on: ${gaps.join('; ')}.${since} Run "npx callboard doctor" for details.`;
}

/** Of two trials the better one of each promise. */
function eitherHeld(first: HandshakeReport, second: HandshakeReport): HandshakeReport {
  const held = new Map(first.checks.filter(({ verdict }) => verdict === 'yes').map((check) => [check.id, check]));
  return { ...second, checks: second.checks.map((check) => held.get(check.id) ?? check) };
}
