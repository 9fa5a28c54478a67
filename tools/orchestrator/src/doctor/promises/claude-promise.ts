import type { TestEnvironment } from '../test-environment.ts';

/** Something that `claude` does and Callboard is built on. */
export interface ClaudePromise {
  readonly id: string;
  /** What a version that keeps it does, to follow the version's name. */
  readonly sentence: string;
  /** What would not work without it. */
  readonly reliedOnFor: string;
  /** What people see of it where it is not kept, in a few words for a card: "tools that a hook allows go unnoticed". */
  readonly lack: string;
  /** Those without which there is no sense in trying this one. */
  readonly needs: readonly string[];
  /** Tries it. @throws Error whose message says in what way it is not kept */
  keep(lab: TestEnvironment, signal: AbortSignal): Promise<void>;
}

/** Throws, with what happened instead, unless the promise was kept. */
export function require(kept: boolean, otherwise: string): asserts kept {
  if (!kept) throw new Error(otherwise);
}
