import { backup } from './backup.ts';
import type { Command } from './command.ts';
import { createCompletion } from './completion.ts';
import { demo } from './demo.ts';
import { apiCommands } from './desk-commands.ts';
import { doctor } from './doctor.ts';
import { down } from './down.ts';
import { createHelp } from './help.ts';
import { link } from './link.ts';
import { login } from './login.ts';
import { logout } from './logout.ts';
import { migrateStore } from './migrate-store.ts';
import { restore } from './restore.ts';
import { start } from './start.ts';

/** Every command, in the order of the help text. */
export const commands: readonly Command[] = [
  ...[start, link, down, doctor, backup, restore, migrateStore, demo],
  ...[login, ...apiCommands, logout],
  ...[createCompletion(() => commands), createHelp(() => commands)],
];

/** Runs if the command line names no command. */
export const defaultCommand: Command = start;
