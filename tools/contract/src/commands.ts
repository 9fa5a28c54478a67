import type { z } from 'zod';
import { requestCommands, requestDocs } from './approval-commands.ts';
import { boardCommands, boardDocs } from './board-commands.ts';
import { budgetCommands, budgetDocs } from './budget-commands.ts';
import { checkCommands, checkDocs } from './check-commands.ts';
import { crashCommands, crashDocs } from './crash-commands.ts';
import { workspaceCommands, workspaceDocs } from './dev-server-commands.ts';
import { moveInCommands, moveInDocs } from './import-commands.ts';
import { limitCommands, limitDocs } from './limit-commands.ts';
import { loginCommands, loginDocs } from './login-commands.ts';
import { machineCommands, machineDocs } from './machine-commands.ts';
import { draftCommands, draftDocs, messageCommands, messageDocs } from './message-commands.ts';
import { numberCommands, numberDocs } from './number-commands.ts';
import { holdDocs, pauseCommands } from './pause-commands.ts';
import { lookingDocs, presenceCommands } from './presence-commands.ts';
import { projectCommands, projectDocs } from './project-commands.ts';
import { pullRequestCommands, pullRequestDocs } from './pull-request-commands.ts';
import { pushCommands, pushDocs } from './push-commands.ts';
import { reviewCommands, reviewDocs } from './review-commands.ts';
import { goingBackDocs, rewindCommands } from './rewind-commands.ts';
import { ruleCommands, ruleDocs } from './rule-commands.ts';
import { sessionCommands, sessionDocs } from './session-commands.ts';
import { stageCommands, stageDocs } from './stage-commands.ts';
import { trashCommands, trashDocs } from './trash-commands.ts';
import { webhookCommands, webhookDocs } from './webhook-commands.ts';
import { mendDocs, repairCommands } from './worktree-commands.ts';
/**
 * How long a client waits for the reply to a command, in milliseconds. `read`: a short answer from the store, while
 * somebody waits for a page; repeating it is harmless. `slow`: waits for processes or for git. All others are `normal`,
 * including the reads of streams (`get_events`): nobody watches those, and a stream that fails starts again.
 */
export const REPLY_LIMITS_MS = { read: 5_000, normal: 30_000, slow: 120_000 } as const;

/** Every command. */
export const commands = {
  ...boardCommands,
  ...projectCommands,
  ...moveInCommands,
  ...numberCommands,
  ...stageCommands,
  ...checkCommands,
  ...repairCommands,
  ...pullRequestCommands,
  ...limitCommands,
  ...pauseCommands,
  ...machineCommands,
  ...crashCommands,
  ...budgetCommands,
  ...sessionCommands,
  ...requestCommands,
  ...draftCommands,
  ...messageCommands,
  ...trashCommands,
  ...workspaceCommands,
  ...reviewCommands,
  ...ruleCommands,
  ...rewindCommands,
  ...presenceCommands,
  ...pushCommands,
  ...webhookCommands,
  ...loginCommands,
} as const;

/** What the API's document says of the commands that have a route. */
export const commandDocs = () => ({
  ...boardDocs(),
  ...projectDocs(),
  ...moveInDocs(),
  ...numberDocs(),
  ...stageDocs(),
  ...checkDocs(),
  ...mendDocs(),
  ...pullRequestDocs(),
  ...limitDocs(),
  ...holdDocs(),
  ...machineDocs(),
  ...crashDocs(),
  ...budgetDocs(),
  ...sessionDocs(),
  ...requestDocs(),
  ...draftDocs(),
  ...messageDocs(),
  ...trashDocs(),
  ...workspaceDocs(),
  ...reviewDocs(),
  ...ruleDocs(),
  ...goingBackDocs(),
  ...lookingDocs(),
  ...pushDocs(),
  ...webhookDocs(),
  ...loginDocs(),
});

export type CommandType = keyof typeof commands;
export type CommandTime = keyof typeof REPLY_LIMITS_MS;
export type CommandInput<T extends CommandType> = z.infer<(typeof commands)[T]['input']>;
export type CommandReply<T extends CommandType> = z.infer<(typeof commands)[T]['reply']>;

/** Returns how long a client waits for the reply to this command: a key of `REPLY_LIMITS_MS`. */
export function timeOf(type: CommandType): CommandTime {
  const command = commands[type];
  return 'time' in command ? command.time : 'normal';
}
