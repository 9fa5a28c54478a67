import { Conversation, ConversationList, IssueList, StageView } from '@callboard/contract';
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

const url = 'https://github.com/acme/shop/issues/12';

export const issues = IssueList.parse({
  issues: [{ number: 12, title: 'Login form', url, labels: ['bug'], author: 'grace', updatedAt: at, stageId: null }],
  repository: 'github.com/acme/shop',
  host: 'github',
  problem: null,
});

export const ofIssue = StageView.parse({
  ...stage,
  title: 'Login form',
  prompt: `Resolve issue #12: Login form\n\n${url}`,
  issue: { host: 'github', number: 12, url, taken: '9b1de2a4c50f7d3e' },
});
