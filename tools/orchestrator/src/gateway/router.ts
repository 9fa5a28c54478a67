import type { CommandError, CommandType, Credential } from '@callboard/contract';
import type { CommandContext } from '../core/commands/command-handler.ts';
import type { StoredCommand } from '../store/ports/machine-port.ts';

/** Finds the machine of a command. */
export interface CommandRouter {
  /** Reads a login that another machine may have made. */
  knowLogin(credential: Credential): Promise<void>;
  /** Executes the command where it belongs. Null: it belongs here. @throws what the other machine replied */
  route(type: CommandType, fields: Record<string, unknown>, context: CommandContext): Promise<{ data: unknown } | null>;
}

/** There is one machine. */
export const ALL_HERE: CommandRouter = { knowLogin: async () => undefined, route: async () => null };

/** The refusal of another machine, as it said it. */
export class RelayedError extends Error {
  readonly told: CommandError;
  constructor(reported: CommandError) {
    super(reported.message);
    this.told = reported;
  }
}

/** A command of another machine, as its credential was checked there. */
export type ForeignCommand = Pick<StoredCommand, 'type' | 'fields' | 'actor' | 'login'>;
