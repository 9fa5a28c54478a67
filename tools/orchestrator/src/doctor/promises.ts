import { answerChecks } from './promises/answers.ts';
import type { CompatibilityCheck } from './promises/claude-promise.ts';
import { conversationChecks } from './promises/conversation.ts';
import { requestChecks } from './promises/requests.ts';
import { settingsChecks } from './promises/settings.ts';

/** All promises, in the order in which they are tried: later ones depend on earlier ones, and the last one ends the process. */
export const compatibilityChecks: readonly CompatibilityCheck[] = [
  ...requestChecks,
  ...answerChecks,
  ...settingsChecks,
  ...conversationChecks,
];
