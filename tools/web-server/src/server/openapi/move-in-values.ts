import { Conversation, ConversationList, StageView } from '@callboard/contract';
import { at, project, stage } from './example-values.ts';

/** The values of examples about work that was begun elsewhere. */

export const conversation = Conversation.parse({
  conversationId: '24796da1-60bd-44a0-8d5b-5f9cc495f972',
  name: null,
  firstWords: 'Mend the login form',
  folder: project.path,
  branch: 'main',
  startedAt: at,
  updatedAt: at,
  messages: 4,
  bytes: 165483,
  isOpen: false,
});

export const conversations = ConversationList.parse({
  conversations: [conversation],
  older: 0,
  folders: [{ folder: project.path, branch: 'main', uncommitted: 2 }],
  source: '/home/ada/.claude/projects',
});

export const adopted = StageView.parse({
  ...stage,
  title: 'Login form',
  prompt: conversation.firstWords,
  worktree: null,
  adopted: {
    conversationId: conversation.conversationId,
    folder: conversation.folder,
    branch: conversation.branch,
    at,
    lastEntry: 12,
  },
});
