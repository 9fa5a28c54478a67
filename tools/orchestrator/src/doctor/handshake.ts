import { messageOf } from '@callboard/runtime/errors';
import { identifyBinary } from '../core/claude/claude-program.ts';
import { type CompatibilityCheck, compatibilityChecks } from './promises.ts';
import type { HandshakeCheck, HandshakeReport } from './report.ts';
import { createTestEnvironment, type TestEnvironment } from './test-environment.ts';

export interface HandshakeOptions {
  /** Absolute path of the program under test. */
  claude: string;
  /** The version that it reports. */
  version: string;
  /** `PATH` for it; it gets nothing else of the user's environment. */
  path: string | undefined;
  /** Runs the program with low priority. */
  isQuiet?: boolean;
  /** Stops in the middle. */
  signal: AbortSignal;
  now?: () => Date;
  limits?: HandshakeLimits;
}

export interface HandshakeLimits {
  /** For one promise. */
  stepMs: number;
  /** For all of them; later ones are not tried. Cleaning up adds a few seconds at most. */
  wholeMs: number;
}

/** A machine busy with sessions takes several times as long as an idle one, which takes five seconds for the whole. */
const LIMITS: HandshakeLimits = { stepMs: 20_000, wholeMs: 60_000 };

/**
 * Drives the installed `claude` through a scripted conversation with a model on loopback, using the code that drives
 * sessions, and reports which promises it keeps. Needs no account and no network, does not touch the user's files, and
 * leaves nothing behind.
 * @throws the signal's reason if it aborts; even then nothing is left behind
 */
export async function runHandshake(options: HandshakeOptions): Promise<HandshakeReport> {
  const { version, signal, now = () => new Date(), limits = LIMITS } = options;
  signal.throwIfAborted();
  const at = now().toISOString();
  const timeIsUp = AbortSignal.timeout(limits.wholeMs);
  const binary = await identifyBinary(options.claude).catch(() => null);
  await using environment = await createTestEnvironment(options);
  const checks: HandshakeCheck[] = [];
  for (const promise of compatibilityChecks) {
    const { check: _check, needs, ...facts } = promise;
    const missing = checks.find(({ id, verdict }) => needs.includes(id) && verdict !== 'yes');
    const outcome = timeIsUp.aborted
      ? TOO_LATE
      : missing !== undefined
        ? untried(`it depends on "${missing.id}", which was not confirmed`)
        : await outcomeOf(
            promise,
            environment,
            AbortSignal.any([signal, timeIsUp, AbortSignal.timeout(limits.stepMs)]),
          );
    signal.throwIfAborted();
    checks.push({ ...facts, ...(outcome.verdict === 'no' && timeIsUp.aborted ? TOO_LATE : outcome) });
  }
  return { version, binary, at, checks };
}

type Outcome = Pick<HandshakeCheck, 'verdict' | 'why'>;

const untried = (why: string): Outcome => ({ verdict: 'untried', why });
const TOO_LATE = untried('the handshake ran out of time');

async function outcomeOf(
  promise: CompatibilityCheck,
  environment: TestEnvironment,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    await promise.check(environment, signal);
    return { verdict: 'yes', why: null };
  } catch (error) {
    await environment.discard();
    return { verdict: 'no', why: messageOf(error) };
  }
}
