import type { Flag, Given } from '../command-line/flags.ts';
import type { Edges } from '../edges.ts';

/** One command of `callboard`: one file in this folder, and one line in `all.ts`. */
export interface Command {
  readonly name: string;
  /** What it does, for the list of commands. */
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** Resolves with the exit code. Throws UsageError for values that cannot be, OperationalError for what failed. */
  run(invocation: Invocation): Promise<number>;
}

export interface Invocation {
  readonly given: Given;
  readonly edges: Edges;
}
