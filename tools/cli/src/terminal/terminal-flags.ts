import { z } from 'zod';
import { dataDir, dataDirFlag, type Flag } from '../command-line/flags.ts';
import { UsageError } from '../errors.ts';
import type { Platform } from '../platform.ts';

const jsonFlag: Flag = { kind: 'switch', name: 'json', help: 'Print JSON, as the API has it.' };

/** The options that all commands of a logged-in terminal have. */
export const apiFlags: readonly Flag[] = [jsonFlag, dataDirFlag];

/** The schema of these. */
export const apiOptions = (platform: Platform) => ({ json: z.boolean().default(false), 'data-dir': dataDir(platform) });

/** Declares an argument. The last one of a command may be repeatable. */
export const argument = (name: string, placeholder: string, help: string): Flag => ({
  kind: 'argument',
  name,
  placeholder,
  help,
});

/** Declares an option with a value. */
export const option = (name: string, placeholder: string, help: string): Flag => ({
  kind: 'value',
  name,
  placeholder,
  help,
  repeatable: false,
  variable: null,
});

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
