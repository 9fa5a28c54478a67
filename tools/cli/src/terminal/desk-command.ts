import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import { dataDirSuffix } from '../command-line/data-dir.ts';
import { parseGiven } from '../command-line/flags.ts';
import type { Invocation } from '../commands/command.ts';
import type { Platform } from '../edges.ts';
import { explained, openApiClient } from './desk.ts';
import { apiOptions } from './flags.ts';

/** What a command of a logged-in terminal works with. */
export interface ApiWork<O> {
  readonly api: Transport;
  readonly options: O & { readonly json: boolean };
  readonly platform: Platform;
  readonly hint: Hint;
}

/** Returns a command line to suggest, with the data directory if that is not the usual one. */
export type Hint = (text: string) => string;

/**
 * Reads the options of a command, connects, and runs it. Resolves with exit code 0.
 * @throws UsageError for an invalid value, CliError if it cannot connect or is refused
 */
export async function withApiClient<S extends z.ZodRawShape>(
  { given, platform }: Invocation,
  shape: S,
  work: (at: ApiWork<z.infer<z.ZodObject<S>>>) => Promise<void>,
): Promise<number> {
  const { 'data-dir': folder, json } = parseGiven(z.object(apiOptions(platform)), given);
  const own = parseGiven(z.object(shape), given);
  const api = await openApiClient(folder, platform);
  const hint: Hint = (text) => `npx callboard ${text}${dataDirSuffix(folder, platform.home)}`;
  await explained(() => work({ api, options: { ...own, json }, platform, hint }));
  return 0;
}
