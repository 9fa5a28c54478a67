import { messageOf } from '../lib/errors.ts';
import type { KeptPromise } from './kept-promise.ts';
import { createLab, type Lab } from './lab.ts';
import { keptPromises } from './promises.ts';
import type { HandshakeCheck, HandshakeReport } from './report.ts';

export interface HandshakeOptions {
  /** Absolute path of the program under test. */
  claude: string;
  /** The version that it says it is. */
  version: string;
  /** `PATH` for it; nothing else of anyone's environment reaches it. */
  path: string | undefined;
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
  await using lab = await createLab(options);
  const checks: HandshakeCheck[] = [];
  for (const promise of keptPromises) {
    const step = AbortSignal.any([signal, timeIsUp, AbortSignal.timeout(limits.stepMs)]);
    const missing = missingFor(promise, checks);
    if (missing !== undefined) checks.push(untried(promise, `it needs that ${version} ${missing.sentence}`));
    else if (timeIsUp.aborted) checks.push(untried(promise, 'the time for the whole handshake was up'));
    else checks.push(await check(promise, lab, step));
    signal.throwIfAborted();
  }
  return { version, at, checks };
}

async function check(promise: KeptPromise, lab: Lab, signal: AbortSignal): Promise<HandshakeCheck> {
  try {
    await promise.keep(lab, signal);
    return { ...factsOf(promise), verdict: 'yes', why: null };
  } catch (error) {
    await lab.discard();
    return { ...factsOf(promise), verdict: 'no', why: messageOf(error) };
  }
}

const missingFor = ({ needs }: KeptPromise, checks: readonly HandshakeCheck[]) =>
  checks.find(({ id, verdict }) => needs.includes(id) && verdict !== 'yes');

const untried = (promise: KeptPromise, why: string): HandshakeCheck => ({
  ...factsOf(promise),
  verdict: 'untried',
  why,
});

const factsOf = ({ id, sentence, reliedOnFor }: KeptPromise) => ({ id, sentence, reliedOnFor });
