import { answerPromises } from './promises/answers.ts';
import type { ClaudePromise } from './promises/claude-promise.ts';
import { conversationPromises } from './promises/conversation.ts';
import { requestPromises } from './promises/requests.ts';
import { settingsPromises } from './promises/settings.ts';

/** All promises, in the order in which they are tried: later ones depend on earlier ones, and the last one ends the process. */
export const claudePromises: readonly ClaudePromise[] = [
  ...requestPromises,
  ...answerPromises,
  ...settingsPromises,
  ...conversationPromises,
];
