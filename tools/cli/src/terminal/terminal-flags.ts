import { z } from 'zod';
import { dataDir, dataDirFlag, type Flag, onOff } from '../command-line/flags.ts';
import { UsageError } from '../errors.ts';
import type { Platform } from '../platform.ts';

/** The options that all commands of a logged-in terminal have. */
export const apiFlags: readonly Flag[] = [onOff('json', 'Print JSON, as the API has it.'), dataDirFlag];

/** The schema of these. */
export const apiOptions = (platform: Platform) => ({ json: z.boolean().default(false), 'data-dir': dataDir(platform) });

/**
 * Returns a text that was given as it is, or is piped in: with `-`, and if none was given.
 * @throws UsageError with these words if there is none, or only spaces
 */
export async function textOrInput(given: string | undefined, { input }: Platform, missing: string): Promise<string> {
  const isPiped = given === '-' || (given === undefined && !input.isTerminal);
  const text = isPiped ? (await input.read()).replace(/\r?\n$/, '') : (given ?? '');
  if (text.trim() === '') throw new UsageError(missing);
  return text;
}
