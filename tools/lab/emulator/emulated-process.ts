import type { Conversation } from './conversation.ts';
import type { Printer } from './printer.ts';
import type { PermissionRequests } from './tools.ts';

export interface Message {
  uuid: string;
  text: string;
}

/** The state that the parts of one emulated process share. */
export interface EmulatedProcess {
  readonly conversation: Conversation;
  readonly printer: Printer;
  readonly requests: PermissionRequests;
  readonly cwd: string;
  /** Messages that no turn has taken yet. */
  readonly queue: Message[];
  permissionMode: string;
  /** The cost of the conversation, as this process counts it. */
  costUsd: number;
  /** Aborts the running turn; null between turns. */
  turn: AbortController | null;
  /** `end_session` was requested. */
  isEnding: boolean;
}
