import { z } from 'zod';
import { parseGiven } from '../command-line/flags.ts';
import { completionScript, SHELLS } from '../completion/scripts.ts';
import { UsageError } from '../errors.ts';
import type { Command } from './command.ts';

const schema = z.object({
  shell: z.enum(SHELLS, { error: `must be one of ${SHELLS.join(', ')}` }).optional(),
});

/**
 * `callboard completion`: prints the script that completes command lines in a shell.
 * @param all every command, asked for when it runs
 */
export function createCompletion(all: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'Prints a completion script for bash, zsh or fish.',
    flags: [{ kind: 'argument', name: 'shell', placeholder: 'SHELL', required: true, help: 'bash, zsh or fish.' }],
    run: async ({ given, platform }) => {
      const { shell } = parseGiven(schema, given);
      if (shell === undefined) throw new UsageError('name the shell: npx callboard completion bash, zsh or fish');
      platform.out(completionScript(shell, all()));
      return 0;
    },
  };
}
