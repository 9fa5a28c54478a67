import type { Relays } from './relay.ts';

/** Work that was begun elsewhere, and comes to the board. */
export const moveInRelays = {
  get_conversations: {
    summary: 'List the conversations that were begun in a terminal',
    description:
      "Those that Claude Code keeps of the project's checkouts and their subfolders, newest first, without those of stages. `isOpen`: a Claude Code that is running has it open.",
    problems: ['unknown_project', 'worktree_failed'],
  },
  adopt_conversation: {
    status: 201,
    summary: 'Continue a conversation as a stage',
    description:
      'The stage shows what was said before, and starts with the next message, in a worktree of its own and with a copy of the conversation; the original is never written to. The worktree begins at the commit that the folder of the conversation is at, with its uncommitted changes unless `uncommitted` is false.',
    problems: ['unknown_project', 'unknown_conversation', 'conversation_adopted', 'worktree_failed'],
  },
} satisfies Relays;
