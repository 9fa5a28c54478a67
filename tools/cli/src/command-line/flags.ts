import { accessSync, constants, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { shellQuote } from '@callboard/contract';
import type { Environment } from '@callboard/runtime/environment';
import { z } from 'zod';
import { UsageError } from '../errors.ts';

/** An option or an argument that a command declares. */
export type Flag =
  | { readonly kind: 'switch'; readonly name: string; readonly help: string }
  | {
      readonly kind: 'value';
      readonly name: string;
      readonly placeholder: string;
      readonly help: string;
      /** The environment variable for the same option. The flag wins. */
      readonly variable?: string | undefined;
      readonly repeatable?: true;
    }
  /** A word without dashes, for example a file name. Words are taken in the order of the arguments; the last one may be repeatable. */
  | {
      readonly kind: 'argument';
      readonly name: string;
      readonly placeholder: string;
      readonly help: string;
      /** The command refuses to run without it. */
      readonly required?: true;
      readonly repeatable?: true;
    }
  /** Only a variable may set it, because everybody can read a command line. */
  | { readonly kind: 'variable'; readonly name: string; readonly variable: string; readonly help: string };

/** Declares an option that is on or off: `--name`, `--no-name`. */
export const onOff = (name: string, help: string): Flag => ({ kind: 'switch', name, help });

/** Declares an option with a value: `--name PLACEHOLDER`. */
export const option = (name: string, placeholder: string, help: string, variable?: string): Flag => ({
  kind: 'value',
  name,
  placeholder,
  help,
  variable,
});

/** Declares an argument. */
export const argument = (name: string, placeholder: string, help: string): Flag => ({
  kind: 'argument',
  name,
  placeholder,
  help,
});

/** Declares what only a variable may set. */
export const variable = (name: string, variable: string, help: string): Flag => ({
  kind: 'variable',
  name,
  variable,
  help,
});

/** The user's values, by the name of the flag. `from` is the flag or the variable, for messages. */
export type Given = ReadonlyMap<string, { readonly value: string | string[] | boolean; readonly from: string }>;

/**
 * Reads the options of a command from the command line and, for those it does not name, from the environment. An empty
 * variable counts as unset.
 * @throws UsageError for an option or an argument that the command does not have, and for a missing value
 */
export function readFlags(command: string, args: readonly string[], flags: readonly Flag[], env: Environment): Given {
  const given = readVariables(flags, env);
  const options = flags.filter(isOnCommandLine);
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      options.map(({ kind, name }) => [name, { type: kind === 'switch' ? 'boolean' : 'string' }]),
    ),
    strict: false, // our messages say more than those of parseArgs
    allowNegative: true,
    allowPositionals: true,
    tokens: true,
  });
  const put = ({ name, repeatable }: { name: string; repeatable?: true }, from: string, value: string) => {
    const before = given.get(name)?.value;
    given.set(name, { value: repeatable === true ? [...(Array.isArray(before) ? before : []), value] : value, from });
  };
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      const next = flags
        .filter((flag) => flag.kind === 'argument')
        .find(({ name, repeatable }) => repeatable === true || !given.has(name));
      if (next === undefined) throw unexpectedArgument(token.value);
      put(next, next.placeholder, token.value);
      continue;
    }
    const flag = options.find(({ name }) => name === token.name);
    if (flag === undefined) throw unknownOption(command, token.rawName, options);
    const from = `--${flag.name}`;
    if (flag.kind === 'switch') given.set(flag.name, { value: requireSwitch(token), from });
    else put(flag, from, requireValue(token, flag.placeholder));
  }
  return given;
}

/**
 * Validates the user's values.
 * @throws UsageError with one line for each invalid value, which names the flag or the variable
 */
export function parseGiven<T>(schema: z.ZodType<T>, given: Given): T {
  const values = Object.fromEntries([...given].map(([name, { value }]) => [name, value]));
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  const complaints = parsed.error.issues.map(({ path, message }) => {
    const name = String(path[0]);
    return `${given.get(name)?.from ?? `--${name}`}: ${message}.`;
  });
  throw new UsageError(complaints.join('\ncallboard: '));
}

function readVariables(flags: readonly Flag[], env: Environment) {
  const given = new Map<string, { value: string | string[] | boolean; from: string }>();
  for (const flag of flags) {
    const from = 'variable' in flag ? flag.variable : undefined;
    const value = from === undefined ? undefined : env[from];
    if (from !== undefined && value !== undefined && value !== '') given.set(flag.name, { value, from });
  }
  return given;
}

type OnCommandLine = Extract<Flag, { kind: 'switch' | 'value' }>;

/** Whether a flag is an option. */
export const isOnCommandLine = (flag: Flag): flag is OnCommandLine => flag.kind === 'switch' || flag.kind === 'value';

interface OptionToken {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function requireSwitch({ rawName, value }: OptionToken): boolean {
  if (value !== undefined) throw new UsageError(`${rawName}: takes no value.`);
  return !rawName.startsWith('--no-');
}

function requireValue({ rawName, value, inlineValue }: OptionToken, placeholder: string): string {
  if (rawName.startsWith('--no-')) throw new UsageError(`${rawName}: there is no such option.`);
  // `-1` is a value, and its schema says what is wrong with it.
  const isNextFlag = value !== undefined && /^-[^\d.]/.test(value) && inlineValue !== true;
  if (value === undefined || value === '' || isNextFlag) {
    throw new UsageError(`${rawName}: needs a value (${rawName} ${placeholder}).`);
  }
  return value;
}

function unknownOption(command: string, rawName: string, options: readonly OnCommandLine[]): UsageError {
  const names = options.map(({ kind, name }) => (kind === 'switch' ? `--${name}, --no-${name}` : `--${name}`));
  const known = names.length === 0 ? 'It has none.' : `Its options are: ${names.join(', ')}.`;
  return new UsageError(`\`callboard ${command}\` has no option ${rawName}. ${known}`);
}

const unexpectedArgument = (value: string) =>
  new UsageError(`unexpected argument ${JSON.stringify(value)}. The command comes first, then its options.`);

/** The folders for relative paths (`cwd`) and for `~` (`home`). */
export interface PathBase {
  readonly cwd: string;
  readonly home: string;
}

/** Returns the error of a schema: the value that was given, and what is wrong with it. */
export const complain = (reason: string) => ({
  error: (issue: { input: unknown }) => `${JSON.stringify(issue.input)} ${reason}`,
});

/** A TCP port; 0 for any free one. */
export const port = z
  .string()
  .refine(
    (text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535,
    complain('is not a port (0 to 65535; 0 takes any free one)'),
  )
  .transform(Number);

/** A number of things, at least one. */
export const count = z
  .string()
  .refine((text) => /^\d{1,6}$/.test(text) && Number(text) > 0, complain('is not a whole number above 0'))
  .transform(Number);

/** A number of things; 0 for none. */
export const countOrNone = z
  .string()
  .refine((text) => /^\d{1,6}$/.test(text), complain('is not a whole number'))
  .transform(Number);

/** The name of an account of this machine. */
export const userName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]*\$?$/, complain('is not a user name'));

/** A SHA-256 in hex, in lower case. */
export const sha256 = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, { error: 'is not a SHA-256 in hex (64 digits)' })
  .transform((text) => text.toLowerCase());

/** An absolute path. */
export const path = ({ cwd, home }: PathBase) =>
  z
    .string()
    .refine((text) => !/^~[^/]/.test(text), complain('names the home of another user; write the path in full'))
    .transform((text) => resolve(cwd, text === '~' || text.startsWith('~/') ? join(home, text.slice(1)) : text));

/** The absolute path of an existing folder. */
export const folder = (base: PathBase) => path(base).refine(isFolder, complain('is not a readable folder'));

/** The absolute path of a program. */
export const program = (base: PathBase) => path(base).refine(isProgram, complain('is not an executable program'));

function isFolder(name: string): boolean {
  try {
    return statSync(name).isDirectory();
  } catch {
    return false;
  }
}

function isProgram(name: string): boolean {
  try {
    accessSync(name, constants.X_OK);
    return statSync(name).isFile();
  } catch {
    return false;
  }
}

/** The option that most commands share. */
export const dataDirFlag = option(
  'data-dir',
  'PATH',
  'Where Callboard keeps all its data; one Callboard per folder (~/.callboard).',
  'CALLBOARD_DATA_DIR',
);

/** Returns an absolute path. */
const defaultDataDir = (home: string): string => join(home, '.callboard');

/** The schema of `--data-dir`. */
export const dataDir = (base: PathBase) => path(base).default(defaultDataDir(base.home));

/** Returns the option that a suggested command line needs for a data directory: nothing for the default one. */
export const dataDirSuffix = (folder: string, home: string): string =>
  folder === defaultDataDir(home) ? '' : ` --data-dir ${shellQuote(folder)}`;
