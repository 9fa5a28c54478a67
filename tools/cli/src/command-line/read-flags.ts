import { parseArgs } from 'node:util';
import type { Environment } from '../edges.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Given } from './flags.ts';

/**
 * Reads the options of one command from the command line and, where that is silent, from the environment. An empty
 * variable counts as not set. Throws UsageError, naming what it does not understand.
 */
export function readFlags(command: string, args: readonly string[], flags: readonly Flag[], env: Environment): Given {
  const given = new Map<string, { value: string | string[] | boolean; from: string }>();
  for (const flag of flags) {
    const variable = variableOf(flag);
    const value = variable === null ? undefined : env[variable];
    if (variable !== null && value !== undefined && value !== '') given.set(flag.name, { value, from: variable });
  }
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(flags.filter(isOnCommandLine).map((flag) => [flag.name, typeOf(flag)])),
    strict: false, // the messages below say more than those of parseArgs
    allowNegative: true,
    allowPositionals: true,
    tokens: true,
  });
  const lists = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      const argument = flags.find((flag) => flag.kind === 'argument');
      if (argument === undefined || given.has(argument.name)) throw unexpected(token.value);
      given.set(argument.name, { value: token.value, from: argument.placeholder });
      continue;
    }
    const flag = flags.filter(isOnCommandLine).find((candidate) => candidate.name === token.name);
    if (flag === undefined) throw unknown(command, token.rawName, flags);
    const from = `--${flag.name}`;
    if (flag.kind === 'switch') given.set(flag.name, { value: requireSwitch(token), from });
    else if (!flag.repeatable) given.set(flag.name, { value: requireValue(token, flag.placeholder), from });
    else {
      const list = [...(lists.get(flag.name) ?? []), requireValue(token, flag.placeholder)];
      lists.set(flag.name, list);
      given.set(flag.name, { value: list, from });
    }
  }
  return given;
}

type OnCommandLine = Extract<Flag, { kind: 'switch' | 'value' }>;
const isOnCommandLine = (flag: Flag): flag is OnCommandLine => flag.kind === 'switch' || flag.kind === 'value';
const variableOf = (flag: Flag) => (flag.kind === 'switch' || flag.kind === 'argument' ? null : flag.variable);

const typeOf = (flag: OnCommandLine): { type: 'boolean' | 'string'; multiple: boolean } =>
  flag.kind === 'switch' ? { type: 'boolean', multiple: false } : { type: 'string', multiple: flag.repeatable };

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
  const isNextFlag = value?.startsWith('-') === true && inlineValue !== true;
  if (value === undefined || value === '' || isNextFlag) {
    throw new UsageError(`${rawName}: needs a value (${rawName} ${placeholder}).`);
  }
  return value;
}

function unknown(command: string, rawName: string, flags: readonly Flag[]): UsageError {
  const names = flags
    .filter(isOnCommandLine)
    .map((flag) => (flag.kind === 'switch' ? `--${flag.name}, --no-${flag.name}` : `--${flag.name}`));
  const known = names.length === 0 ? 'It has none.' : `Its options are: ${names.join(', ')}.`;
  return new UsageError(`\`callboard ${command}\` has no option ${rawName}. ${known}`);
}

const unexpected = (value: string) =>
  new UsageError(`unexpected argument ${JSON.stringify(value)}. The command comes first, then its options.`);
