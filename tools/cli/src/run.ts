import { isDatabaseUrl } from '@callboard/runtime/database-url';
import { z } from 'zod';
import manifest from '../package.json' with { type: 'json' };
import { argument, type Flag, isOnCommandLine, parseGiven, readFlags } from './command-line/flags.ts';
import { backup, restore } from './commands/backup.ts';
import type { Command } from './commands/command.ts';
import { createCompletion } from './commands/completion.ts';
import { doctor } from './commands/doctor.ts';
import { link, login, logout } from './commands/login.ts';
import { migrateStore } from './commands/migrate-store.ts';
import { demo, down, start } from './commands/start.ts';
import { apiCommands } from './commands/terminal-commands.ts';
import { CliError, UsageError } from './errors.ts';
import type { Platform } from './platform.ts';

/** Runs one command line. Resolves with the exit code; rejects with an error that is neither UsageError nor CliError. */
export async function run(args: readonly string[], platform: Platform): Promise<number> {
  try {
    return await dispatch(args, platform);
  } catch (error) {
    if (error instanceof UsageError) {
      platform.err(`callboard: ${error.message}`);
      return 2;
    }
    if (error instanceof CliError) {
      platform.err(`callboard: ${error.message}`);
      return 1;
    }
    throw error;
  }
}

async function dispatch(args: readonly string[], platform: Platform): Promise<number> {
  if (args.includes('--version')) {
    platform.out(manifest.version);
    return 0;
  }
  const [first, ...rest] = args;
  const isNamed = first !== undefined && !first.startsWith('-');
  if (args.includes('--help') || args.includes('-h')) {
    platform.out(isNamed ? renderCommandHelp(requireCommand(commands, first)) : renderHelp(commands));
    return 0;
  }
  if (args.some(holdsDatabaseUrl) && !takesText(first)) throw urlInArguments();
  const command = isNamed ? requireCommand(commands, first) : defaultCommand;
  const given = readFlags(command.name, isNamed ? rest : args, command.flags, platform.env);
  return command.run({ given, platform });
}

/** `postgres://...`, alone or as the value of an option. */
const holdsDatabaseUrl = (arg: string) => isDatabaseUrl(arg.replace(/^--?[^=]*=/, ''));

/** Whether a command is given what a person says to Claude, which may be anything. */
const takesText = (name: string | undefined) => apiCommands.some((command) => command.name === name);

/** Does not repeat it: it may hold a password. */
const urlInArguments = () =>
  new UsageError(
    'the command line holds the URL of a database, and everybody on this machine can read command lines. ' +
      'Put the URL into CALLBOARD_DATABASE_URL, into the file database-url of the data directory (chmod 600), or pipe it in ' +
      '(--database-url-stdin). If it has a password, change that: it may be in the history of your shell.',
  );

const schema = z.object({ command: z.string().optional() });

/** `callboard help`. @param all every command, asked for when it runs */
function createHelp(all: () => readonly Command[]): Command {
  return {
    name: 'help',
    summary: 'Shows this text, or what one command does.',
    flags: [argument('command', 'COMMAND', 'The command; without it, all of them.')],
    run: async ({ given, platform }) => {
      const { command } = parseGiven(schema, given);
      platform.out(command === undefined ? renderHelp(all()) : renderCommandHelp(requireCommand(all(), command)));
      return 0;
    },
  };
}

/** @throws UsageError that lists the commands */
function requireCommand(commands: readonly Command[], name: string): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const names = commands.map((candidate) => candidate.name).join(', ');
  throw new UsageError(`there is no command ${JSON.stringify(name)}. The commands are: ${names}.`);
}

/** Returns the help text of one command. */
function renderCommandHelp({ name, summary, flags }: Command): string {
  const text = flags.flatMap((flag) => (flag.kind === 'argument' ? [` ${usageOf(flag)}`] : []));
  const hasOptions = flags.some(isOnCommandLine);
  const lines = [`Usage: callboard ${name}${text.join('')}${hasOptions ? ' [options]' : ''}`, '', summary];
  if (flags.length > 0) lines.push('', ...columns(flags.map(describe)));
  return lines.join('\n');
}

function usageOf({ placeholder, repeatable, required }: Extract<Flag, { kind: 'argument' }>): string {
  const text = repeatable === true && !placeholder.endsWith('...') ? `${placeholder}...` : placeholder;
  return required === true ? text : `[${text}]`;
}

/** Returns the help text: every command with its options. */
function renderHelp(commands: readonly Command[]): string {
  const lines = ['Usage: callboard [command] [options]', ''];
  lines.push(...columns(commands.map(({ name, summary }) => [name, summary])));
  for (const { name, flags } of commands) {
    if (flags.length > 0) lines.push('', `Options of ${name}:`, ...columns(flags.map(describe)));
  }
  lines.push('', 'Anywhere:', ...columns(anywhere));
  return lines.join('\n');
}

const anywhere: readonly [string, string][] = [
  ['--help, -h', 'Shows this text; after a command, what that does.'],
  ['--version', 'Shows the version.'],
];

function describe(flag: Flag): [string, string] {
  switch (flag.kind) {
    case 'switch':
      return [`--${flag.name}, --no-${flag.name}`, flag.help];
    case 'argument':
      return [flag.placeholder, flag.help];
    case 'variable':
      return [flag.variable, flag.help];
    case 'value': {
      const variable = flag.variable === undefined ? '' : ` [${flag.variable}]`;
      return [`--${flag.name} ${flag.placeholder}`, `${flag.help}${variable}`];
    }
  }
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

/** Every command, in the order of the help text. */
export const commands: readonly Command[] = [
  ...[start, link, down, doctor, backup, restore, migrateStore, demo],
  ...[login, ...apiCommands, logout],
  ...[createCompletion(() => commands), createHelp(() => commands)],
];

/** Runs if the command line names no command. */
const defaultCommand: Command = start;
