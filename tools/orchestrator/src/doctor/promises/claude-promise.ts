import type { TestEnvironment } from '../test-environment.ts';

/** A behaviour of `claude` that Callboard relies on. */
export interface CompatibilityCheck {
  readonly id: string;
  /** What a version that keeps it does; follows the version's name. */
  readonly sentence: string;
  /** What would not work without it. */
  readonly reliedOnFor: string;
  /** What people notice when it is not kept, in a few words for a card: "tools that a hook allows go unnoticed". */
  readonly lack: string;
  /** Promises without which this one cannot be tried. */
  readonly needs: readonly string[];
  /** Tries it. @throws Error that says how it is not kept */
  check(environment: TestEnvironment, signal: AbortSignal): Promise<void>;
}

/** Throws an error with that message unless the promise was kept. */
export function assertCompatible(saved: boolean, otherwise: string): asserts saved {
  if (!saved) throw new Error(otherwise);
}
