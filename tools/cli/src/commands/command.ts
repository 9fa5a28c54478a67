import type { Flag, Given } from '../command-line/flags.ts';
import type { Platform } from '../platform.ts';

/** One command of `callboard`: one file in this folder, and one line in `run.ts`. */
export interface Command {
  readonly name: string;
  /** One sentence for the help text. */
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** Resolves with the exit code. @throws UsageError for an invalid value, CliError for a failure */
  run(invocation: Invocation): Promise<number>;
}

export interface Invocation {
  readonly given: Given;
  readonly platform: Platform;
}
