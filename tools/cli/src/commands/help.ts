import { z } from 'zod';
import { type Flag, parseGiven } from '../command-line/flags.ts';
import { UsageError } from '../errors.ts';
import { argument } from '../terminal/flags.ts';
import type { Command } from './command.ts';

const schema = z.object({ command: z.string().optional() });

/** `callboard help`. @param all every command, asked for when it runs */
export function createHelp(all: () => readonly Command[]): Command {
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
export function requireCommand(commands: readonly Command[], name: string): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const names = commands.map((candidate) => candidate.name).join(', ');
  throw new UsageError(`there is no command ${JSON.stringify(name)}. The commands are: ${names}.`);
}

/** Returns the help text of one command. */
export function renderCommandHelp({ name, summary, flags }: Command): string {
  const text = flags.flatMap((flag) => (flag.kind === 'argument' ? [` ${usageOf(flag)}`] : []));
  const hasOptions = flags.some(({ kind }) => kind === 'switch' || kind === 'value');
  const lines = [`Usage: callboard ${name}${text.join('')}${hasOptions ? ' [options]' : ''}`, '', summary];
  if (flags.length > 0) lines.push('', ...columns(flags.map(describe)));
  return lines.join('\n');
}

function usageOf({ placeholder, repeatable, required }: Extract<Flag, { kind: 'argument' }>): string {
  const text = repeatable === true && !placeholder.endsWith('...') ? `${placeholder}...` : placeholder;
  return required === true ? text : `[${text}]`;
}

/** Returns the help text: every command with its options. */
export function renderHelp(commands: readonly Command[]): string {
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
      const variable = flag.variable === null ? '' : ` [${flag.variable}]`;
      return [`--${flag.name} ${flag.placeholder}`, `${flag.help}${variable}`];
    }
  }
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
