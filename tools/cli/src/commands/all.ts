import type { Command } from './command.ts';
import { doctor } from './doctor.ts';
import { down } from './down.ts';
import { createHelp } from './help.ts';
import { start } from './start.ts';

const working: readonly Command[] = [start, down, doctor];

/** Every command, in the order of the help text. */
export const commands: readonly Command[] = [...working, createHelp(working)];

/** What runs when the command line names no command. */
export const defaultCommand: Command = start;
