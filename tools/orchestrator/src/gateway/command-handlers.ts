import { type BoardParts, boardCommands } from './commands/board-commands.ts';
import { type BudgetDeps, budgetCommands } from './commands/budget-commands.ts';
import type { CommandHandlers } from './commands/command-handler.ts';
import { type RewindCommandDeps, rewindCommands } from './commands/going-back-commands.ts';
import { type PauseDeps, pauseCommands } from './commands/hold-commands.ts';
import { type LimitDeps, limitCommands } from './commands/limit-commands.ts';
import { loginCommands } from './commands/login-commands.ts';
import { type MachineDeps, machineCommands } from './commands/machine-commands.ts';
import { type MessageDeps, messageCommands } from './commands/message-commands.ts';
import { type MetricsDeps, metricsCommands } from './commands/metrics-commands.ts';
import { type MoveInDeps, moveInCommands } from './commands/move-in-commands.ts';
import { type ProjectDeps, projectCommands } from './commands/project-commands.ts';
import { type PullRequestDeps, pullRequestCommands } from './commands/pull-request-commands.ts';
import { type PushDeps, pushCommands } from './commands/push-commands.ts';
import { type RequestDeps, requestCommands } from './commands/request-commands.ts';
import { type ReviewDeps, reviewCommands } from './commands/review-commands.ts';
import { type RuleDeps, ruleCommands } from './commands/rule-commands.ts';
import { type SessionDeps, sessionCommands } from './commands/session-commands.ts';
import { type StageDeps, stageCommands } from './commands/stage-commands.ts';
import { type WebhookDeps, webhookCommands } from './commands/webhook-commands.ts';
import { type WorkspaceDeps, workspaceCommands } from './commands/workspace-commands.ts';

export type HandlerDeps = BoardParts &
  ProjectDeps &
  StageDeps &
  SessionDeps &
  MessageDeps &
  PullRequestDeps &
  RequestDeps &
  PushDeps &
  WebhookDeps &
  WorkspaceDeps &
  MoveInDeps &
  ReviewDeps &
  MetricsDeps &
  RewindCommandDeps &
  LimitDeps &
  PauseDeps &
  MachineDeps &
  BudgetDeps &
  RuleDeps &
  Parameters<typeof loginCommands>[0];

/** Returns the handlers of all commands; each group has its own file. */
export const commandHandlers = (deps: HandlerDeps): CommandHandlers => ({
  ...boardCommands(deps),
  ...projectCommands(deps),
  ...stageCommands(deps),
  ...sessionCommands(deps),
  ...messageCommands(deps),
  ...pullRequestCommands(deps),
  ...requestCommands(deps),
  ...pushCommands(deps),
  ...webhookCommands(deps),
  ...workspaceCommands(deps),
  ...reviewCommands(deps),
  ...moveInCommands(deps),
  ...rewindCommands(deps),
  ...limitCommands(deps),
  ...pauseCommands(deps),
  ...machineCommands(deps),
  ...budgetCommands(deps),
  ...ruleCommands(deps),
  ...loginCommands(deps),
  ...metricsCommands(deps),
});
