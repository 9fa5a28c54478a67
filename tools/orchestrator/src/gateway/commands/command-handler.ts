import type { Actor, CommandInput, CommandReply, CommandType, StageId } from '@callboard/contract';
import type { Authenticated } from '../../auth/logins.ts';

/** Who gave the command, and over which connection. */
export interface CommandContext {
  actor: Actor;
  /** The credential that it came with, once it was found good; null if it came without one. */
  login: Authenticated | null;
  /** From now on the connection gets the text deltas of exactly these stages. */
  watch(stageIds: readonly StageId[]): void;
}

/** What each command does. Rejections are for whoever gave it. */
export type CommandHandlers = {
  [T in CommandType]: (input: CommandInput<T>, context: CommandContext) => Promise<CommandReply<T>>;
};
