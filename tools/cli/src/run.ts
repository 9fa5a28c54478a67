import { isDatabaseUrl } from '@callboard/runtime/database-url';
import manifest from '../package.json' with { type: 'json' };
import { readFlags } from './command-line/flags.ts';
import { commands, defaultCommand } from './commands/all.ts';
import { apiCommands } from './commands/desk-commands.ts';
import { renderCommandHelp, renderHelp, requireCommand } from './commands/help.ts';
import type { Platform } from './edges.ts';
import { CliError, UsageError } from './errors.ts';

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
