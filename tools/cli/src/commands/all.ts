import { backup } from './backup.ts';
import type { Command } from './command.ts';
import { demo } from './demo.ts';
import { doctor } from './doctor.ts';
import { down } from './down.ts';
import { createHelp } from './help.ts';
import { link } from './link.ts';
import { restore } from './restore.ts';
import { start } from './start.ts';

const commandsWithOptions: readonly Command[] = [start, link, down, doctor, backup, restore, demo];

/** Every command, in the order of the help text. */
export const commands: readonly Command[] = [...commandsWithOptions, createHelp(commandsWithOptions)];

/** Runs if the command line names no command. */
export const defaultCommand: Command = start;
