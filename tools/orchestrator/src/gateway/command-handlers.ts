import { type BoardParts, boardCommands } from './commands/board-commands.ts';
import { type BudgetParts, budgetCommands } from './commands/budget-commands.ts';
import type { CommandHandlers } from './commands/command-handler.ts';
import { type GoingBackParts, goingBackCommands } from './commands/going-back-commands.ts';
import { type HoldParts, holdCommands } from './commands/hold-commands.ts';
import { type LimitParts, limitCommands } from './commands/limit-commands.ts';
import { loginCommands } from './commands/login-commands.ts';
import { type MachineParts, machineCommands } from './commands/machine-commands.ts';
import { type MessageParts, messageCommands } from './commands/message-commands.ts';
import { type MetricsParts, metricsCommands } from './commands/metrics-commands.ts';
import { type MoveInParts, moveInCommands } from './commands/move-in-commands.ts';
import { type ProjectParts, projectCommands } from './commands/project-commands.ts';
import { type PullRequestParts, pullRequestCommands } from './commands/pull-request-commands.ts';
import { type PushParts, pushCommands } from './commands/push-commands.ts';
import { type RequestParts, requestCommands } from './commands/request-commands.ts';
import { type ReviewParts, reviewCommands } from './commands/review-commands.ts';
import { type RuleParts, ruleCommands } from './commands/rule-commands.ts';
import { type SessionParts, sessionCommands } from './commands/session-commands.ts';
import { type StageParts, stageCommands } from './commands/stage-commands.ts';
import { type WebhookParts, webhookCommands } from './commands/webhook-commands.ts';
import { type WorkspaceParts, workspaceCommands } from './commands/workspace-commands.ts';

export type HandlerParts = BoardParts &
  ProjectParts &
  StageParts &
  SessionParts &
  MessageParts &
  PullRequestParts &
  RequestParts &
  PushParts &
  WebhookParts &
  WorkspaceParts &
  MoveInParts &
  ReviewParts &
  MetricsParts &
  GoingBackParts &
  LimitParts &
  HoldParts &
  MachineParts &
  BudgetParts &
  RuleParts &
  Parameters<typeof loginCommands>[0];

/** Returns the handlers of all commands; each group has its own file. */
export const commandHandlers = (parts: HandlerParts): CommandHandlers => ({
  ...boardCommands(parts),
  ...projectCommands(parts),
  ...stageCommands(parts),
  ...sessionCommands(parts),
  ...messageCommands(parts),
  ...pullRequestCommands(parts),
  ...requestCommands(parts),
  ...pushCommands(parts),
  ...webhookCommands(parts),
  ...workspaceCommands(parts),
  ...reviewCommands(parts),
  ...moveInCommands(parts),
  ...goingBackCommands(parts),
  ...limitCommands(parts),
  ...holdCommands(parts),
  ...machineCommands(parts),
  ...budgetCommands(parts),
  ...ruleCommands(parts),
  ...loginCommands(parts),
  ...metricsCommands(parts),
});
