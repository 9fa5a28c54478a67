import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '@callboard/runtime/errors';
import { type ClaudeProgram, isSameBinary } from '../claude/program/claude-program.ts';
import type { Logger } from '../lib/logger.ts';
import type { HandshakeOptions } from './handshake.ts';
import { type HandshakeReport, lacksOf } from './report.ts';
import { saveReport } from './report-file.ts';

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

export function createBackgroundTrials(deps: BackgroundTrialDeps): BackgroundTrials {
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
