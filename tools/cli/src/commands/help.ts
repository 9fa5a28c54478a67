import type { Flag } from '../command-line/flags.ts';
import type { Command } from './command.ts';

/** `callboard help`. */
export function createHelp(others: readonly Command[]): Command {
  const help: Command = {
    name: 'help',
    summary: 'Shows this text.',
    flags: [],
    run: async ({ edges }) => {
      edges.out(renderHelp([...others, help]));
      return 0;
    },
  };
  return help;
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
  ['--help, -h', 'Shows this text.'],
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
