import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import { dataDirSuffix } from '../command-line/data-dir.ts';
import { parseGiven } from '../command-line/flags.ts';
import type { Invocation } from '../commands/command.ts';
import type { Edges } from '../edges.ts';
import { explained, openDesk } from './desk.ts';
import { deskOptions } from './flags.ts';

/** What a command of a logged-in terminal works with. */
export interface DeskWork<O> {
  readonly desk: Transport;
  readonly options: O & { readonly json: boolean };
  readonly edges: Edges;
  readonly hint: Hint;
}

/** Returns a command line to suggest, with the data directory if that is not the usual one. */
export type Hint = (words: string) => string;

/**
 * Reads the options of a command, connects, and runs it. Resolves with exit code 0.
 * @throws UsageError for an invalid value, CliError if it cannot connect or is refused
 */
export async function atDesk<S extends z.ZodRawShape>(
  { given, edges }: Invocation,
  shape: S,
  work: (at: DeskWork<z.infer<z.ZodObject<S>>>) => Promise<void>,
): Promise<number> {
  const { 'data-dir': folder, json } = parseGiven(z.object(deskOptions(edges)), given);
  const own = parseGiven(z.object(shape), given);
  const desk = await openDesk(folder, edges);
  const hint: Hint = (words) => `npx callboard ${words}${dataDirSuffix(folder, edges.home)}`;
  await explained(() => work({ desk, options: { ...own, json }, edges, hint }));
  return 0;
}
