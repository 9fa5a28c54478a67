import { identifyBinary } from '../claude/program/claude-program.ts';
import { messageOf } from '../lib/errors.ts';
import type { ClaudePromise } from './promises/claude-promise.ts';
import { claudePromises } from './promises.ts';
import type { HandshakeCheck, HandshakeReport } from './report.ts';
import { createTestEnvironment, type TestEnvironment } from './test-environment.ts';

export interface HandshakeOptions {
  /** Absolute path of the program under test. */
  claude: string;
  /** The version that it says it is. */
  version: string;
  /** `PATH` for it; nothing else of anyone's environment reaches it. */
  path: string | undefined;
  /** Let everything else on the machine go first. */
  isQuiet?: boolean;
  /** Stops in the middle. */
  signal: AbortSignal;
  now?: () => Date;
  limits?: HandshakeLimits;
}

export interface HandshakeLimits {
  /** For one promise. */
  stepMs: number;
  /** For all of them. What comes after it is not tried; clearing up adds a few seconds at most. */
  wholeMs: number;
}

const LIMITS: HandshakeLimits = { stepMs: 5_000, wholeMs: 16_000 };

/**
 * Drives the installed `claude` through a canned conversation with a scripted model on loopback, with the code that
 * drives sessions, and reports which promises it keeps. It needs no account and no network, touches nothing of the
 * user's, and leaves nothing behind.
 * @throws the signal's reason when that aborts; nothing is left behind then either
 */
export async function runHandshake(options: HandshakeOptions): Promise<HandshakeReport> {
  const { version, signal, now = () => new Date(), limits = LIMITS } = options;
  signal.throwIfAborted();
  const at = now().toISOString();
  const timeIsUp = AbortSignal.timeout(limits.wholeMs);
  const binary = await identifyBinary(options.claude).catch(() => null);
  await using lab = await createTestEnvironment(options);
  const checks: HandshakeCheck[] = [];
  for (const promise of claudePromises) {
    const { keep: _keep, needs, ...facts } = promise;
    const missing = checks.find(({ id, verdict }) => needs.includes(id) && verdict !== 'yes');
    const outcome = timeIsUp.aborted
      ? TOO_LATE
      : missing !== undefined
        ? untried(`it needs "${missing.id}", which is not known to hold`)
        : await outcomeOf(promise, lab, AbortSignal.any([signal, timeIsUp, AbortSignal.timeout(limits.stepMs)]));
    signal.throwIfAborted();
    checks.push({ ...facts, ...(outcome.verdict === 'no' && timeIsUp.aborted ? TOO_LATE : outcome) });
  }
  return { version, binary, at, checks };
}

type Outcome = Pick<HandshakeCheck, 'verdict' | 'why'>;

const untried = (why: string): Outcome => ({ verdict: 'untried', why });
const TOO_LATE = untried('the time for the whole handshake was up');

async function outcomeOf(promise: ClaudePromise, lab: TestEnvironment, signal: AbortSignal): Promise<Outcome> {
  try {
    await promise.keep(lab, signal);
    return { verdict: 'yes', why: null };
  } catch (error) {
    await lab.discard();
    return { verdict: 'no', why: messageOf(error) };
  }
}
