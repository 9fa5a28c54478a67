import type { Actor, CommandInput, CommandReply, CommandType, StageId } from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import type { Authenticated } from './logins.ts';

/** Who sent the command, and over which connection. */
export interface CommandContext {
  actor: Actor;
  /** Whose valid credential the command carried; null if it carried none. */
  login: Authenticated | null;
  /** Subscribes the connection to the text deltas of exactly these stages, from now on. */
  watch(stageIds: readonly StageId[]): void;
}

/** One handler for each command. A `Rejection` becomes the error reply to the sender. */
export type CommandHandlers = {
  [T in CommandType]: (input: CommandInput<T>, context: CommandContext) => Promise<CommandReply<T>>;
};

/** @throws Rejection `not_logged_in` for a command without a valid credential */
export function requireLogin(login: Authenticated | null): Authenticated {
  if (login === null) throw new Rejection('not_logged_in', 'This command needs a login.');
  return login;
}

/** @param what in words, as an order @throws Rejection `page_only`, `not_logged_in` */
export function requirePage(login: Authenticated | null, what: string): void {
  if (requireLogin(login).kind === 'page') return;
  const message = `${what} from a browser that is logged in, not with an API token or from a terminal.`;
  throw new Rejection('page_only', message);
}
