import manifest from '../package.json' with { type: 'json' };
import { readFlags } from './command-line/flags.ts';
import { commands, defaultCommand } from './commands/all.ts';
import type { Command } from './commands/command.ts';
import { renderHelp } from './commands/help.ts';
import type { Edges } from './edges.ts';
import { CliError, UsageError } from './errors.ts';

/** Runs one command line. Resolves with the exit code; rejects with an error that is neither UsageError nor CliError. */
export async function run(args: readonly string[], edges: Edges): Promise<number> {
  try {
    return await dispatch(args, edges);
  } catch (error) {
    if (error instanceof UsageError) {
      edges.err(`callboard: ${error.message}`);
      return 2;
    }
    if (error instanceof CliError) {
      edges.err(`callboard: ${error.message}`);
      return 1;
    }
    throw error;
  }
}

async function dispatch(args: readonly string[], edges: Edges): Promise<number> {
  if (args.includes('--version')) {
    edges.out(manifest.version);
    return 0;
  }
  if (args.includes('--help') || args.includes('-h')) {
    edges.out(renderHelp(commands));
    return 0;
  }
  const [first, ...rest] = args;
  const isNamed = first !== undefined && !first.startsWith('-');
  const command = isNamed ? requireCommand(first) : defaultCommand;
  const given = readFlags(command.name, isNamed ? rest : args, command.flags, edges.env);
  return command.run({ given, edges });
}

function requireCommand(name: string): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const names = commands.map((candidate) => candidate.name).join(', ');
  throw new UsageError(`there is no command ${JSON.stringify(name)}. The commands are: ${names}.`);
}
