import { createHash } from 'node:crypto';
import type { Idempotency } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';

const SAVED_MS = 10 * 60_000;
const MAX = 2_000;

/** A command that may be sent again because its reply was lost. */
export interface RepeatableCommand extends Idempotency {
  /** Whose key it is. */
  sender: string;
  /** All that it says. */
  content: string;
}

interface Executed {
  content: string;
  at: number;
  outcome: Promise<unknown>;
}

/** The commands that were executed lately, so that one that is sent again is executed once. In memory only: see `once`. */
export interface ExecutedCommands<T> {
  /**
   * Executes a command, or returns the outcome of the same command that was executed, or is being executed.
   * @param execute never rejects
   * @throws Rejection `bad_request` if the key belongs to another command; `no_confirmation` if an earlier attempt may have been
   *   executed before this process began, or is forgotten
   */
  once(command: RepeatableCommand, execute: () => Promise<T>): Promise<T>;
}

const UNKNOWN =
  'Callboard was restarted before it replied, so it is not known whether this was done. Look at the state before you try again.';

/** @param now a monotonic clock, in milliseconds */
export function createExecutedCommands<T>(now: () => number = () => performance.now()): ExecutedCommands<T> {
  const executed = new Map<string, Executed & { outcome: Promise<T> }>();
  /** Every command since then is remembered. */
  let since = now();

  function forgetOld(): void {
    for (const [key, { at }] of executed) {
      if (executed.size <= MAX && now() - at <= SAVED_MS) break;
      executed.delete(key);
      since = Math.max(since, at);
    }
  }

  return {
    async once({ sender, key, content, unknownForMs }, execute) {
      const name = `${sender}\0${key}`;
      const sign = createHash('sha256').update(content).digest('hex');
      const known = executed.get(name);
      if (known !== undefined) {
        if (known.content === sign) return known.outcome;
        throw new Rejection('bad_request', 'This Idempotency-Key belongs to another request. Use a new one.');
      }
      if (unknownForMs !== null && unknownForMs >= now() - since) throw new Rejection('no_confirmation', UNKNOWN);
      forgetOld();
      const outcome = execute();
      executed.set(name, { content: sign, at: now(), outcome });
      return outcome;
    },
  };
}
