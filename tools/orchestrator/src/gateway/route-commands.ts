import {
  type CommandError,
  type CommandType,
  type Credential,
  commands,
  type MachineId,
  ProjectId,
  REPLY_LIMITS_MS,
  StageId,
} from '@callboard/contract';
import { z } from 'zod';
import type { CommandContext } from '../core/commands/command-handler.ts';
import type { Relay } from '../features/machines/relay.ts';
import { Rejection } from '../lib/errors.ts';
import type { StoredCommand } from '../store/ports/machine-port.ts';

/** Knows where stages and projects are. */
export interface CommandTargets {
  readonly here: MachineId;
  nameOf(id: MachineId): Promise<string>;
  /** The machine that has the stage, or can have it. @throws Rejection `unknown_stage`; OperationalError `no_machine` */
  ofStage(stageId: StageId, isStart: boolean): Promise<MachineId>;
  /** A machine that has the repository. @throws Rejection `unknown_project`; OperationalError `no_machine` */
  ofProject(projectId: ProjectId): Promise<MachineId>;
}

export interface CommandRouter {
  /** Reads a login that another machine may have made. */
  knowLogin(credential: Credential): Promise<void>;
  /** Executes the command where it belongs. Null: it belongs here. @throws what the other machine replied */
  route(type: CommandType, fields: Record<string, unknown>, context: CommandContext): Promise<{ data: unknown } | null>;
}

/** The web server gives up at the limit; the machine's answer should be there before. */
const MARGIN_MS = 1_000;

export function createCommandRouter(
  targets: CommandTargets,
  relay: Relay,
  knowLogin: CommandRouter['knowLogin'],
): CommandRouter {
  async function targetOf(type: CommandType, fields: Record<string, unknown>): Promise<MachineId> {
    const place = commandRouting[type];
    switch (place) {
      case 'store':
      case 'here':
      case 'everywhere':
        return targets.here;
      case 'project': {
        const stageId = StageId.safeParse(fields.stageId);
        if (stageId.success) return targets.ofStage(stageId.data, false);
        const projectId = ProjectId.safeParse(fields.projectId);
        return projectId.success ? targets.ofProject(projectId.data) : targets.here; // the handler refuses it
      }
      case 'owner':
      case 'start':
      case 'not-relayed': {
        const stageId = StageId.safeParse(fields.stageId);
        return stageId.success ? targets.ofStage(stageId.data, place === 'start') : targets.here;
      }
      default:
        return place satisfies never;
    }
  }

  return {
    knowLogin,
    async route(type, fields, { actor, login }) {
      const command = { type, fields, actor, login };
      if (commandRouting[type] === 'everywhere') await relay.relayToOthers(command);
      const machineId = await targetOf(type, fields);
      if (machineId === targets.here) return null;
      if (commandRouting[type] === 'not-relayed') {
        const name = await targets.nameOf(machineId);
        throw new Rejection('not_this_machine', `This stage is on ${name}. Do this in a browser on that machine.`);
      }
      const limitMs = limitOf(commands[type]) - MARGIN_MS;
      const reply = Reply.parse(JSON.parse(await relay.send({ ...command, machineId }, limitMs)));
      if (reply.ok) return { data: reply.data };
      throw new RelayedError(reply.error as CommandError); // the other machine made it
    },
  };
}

const limitOf = (command: (typeof commands)[CommandType]): number =>
  REPLY_LIMITS_MS['time' in command ? command.time : 'normal'];

const Reply = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), data: z.unknown() }),
  z.object({ ok: z.literal(false), error: z.looseObject({ code: z.string(), message: z.string() }) }),
]);

/** The refusal of another machine, as it said it. */
export class RelayedError extends Error {
  readonly told: CommandError;
  constructor(reported: CommandError) {
    super(reported.message);
    this.told = reported;
  }
}

/** A command of another machine, as its credential was checked there. */
export type ForeignCommand = Pick<StoredCommand, 'type' | 'fields' | 'actor' | 'login'>;

/**
 * Where a command runs when several machines share the store.
 *
 * - `store`: on the machine that got it. All it needs is in the store, and whoever else must act hears of it there.
 * - `here`: on the machine that got it, because it is about that machine.
 * - `owner`: on the machine that has the stage; for a stage that nobody has claimed, on one that has its repository.
 * - `start`: as `owner`; a stage that nobody has claimed goes to the machine with most free memory and a free slot.
 * - `project`: on a machine that has the repository: this one if it can.
 * - `not-relayed`: as `owner`, and refused if that is another machine: it opens a window there.
 * - `everywhere`: here, and on all other machines, whose replies nobody needs.
 */
export type CommandLocation = 'store' | 'here' | 'owner' | 'start' | 'project' | 'not-relayed' | 'everywhere';

/** The place of every command. A new command does not compile without one. */
const commandRouting: Readonly<Record<CommandType, CommandLocation>> = {
  get_board: 'store',
  get_counts: 'store',
  get_metrics: 'here',
  get_events: 'store',
  watch: 'here',
  create_project: 'here',
  update_project: 'store',
  remove_project: 'store',
  agree_git_settings: 'project',
  list_folders: 'here',
  get_projects: 'store',
  agree_rules: 'project',
  import_stages: 'project',
  get_trust: 'project',
  trust_project: 'project',
  get_conversations: 'project',
  adopt_conversation: 'project',
  get_issues: 'project',
  import_issues: 'project',
  export_stages: 'project',
  get_numbers: 'store',
  create_stage: 'project',
  get_stage: 'store',
  get_attachment: 'store',
  update_stage: 'owner',
  get_removal: 'owner',
  remove_stage: 'owner',
  get_diff: 'owner',
  suggest_files: 'owner',
  suggest_project_files: 'project',
  get_branches: 'project',
  start_stage: 'start',
  advance_stage: 'owner',
  stop_stage: 'owner',
  get_checks: 'store',
  get_phases: 'store',
  run_check: 'owner',
  stop_check: 'owner',
  send_check: 'owner',
  reopen_stage: 'store',
  get_completion: 'owner',
  take_out_placeholders: 'owner',
  complete_stage: 'owner',
  undo_completion: 'owner',
  remake_worktree: 'owner',
  take_branch: 'owner',
  go_back_to_branch: 'owner',
  get_receipt: 'owner',
  get_pull_request: 'owner',
  open_pull_request: 'owner',
  refresh_pull_request: 'owner',
  get_feedback: 'owner',
  send_feedback: 'owner',
  get_limits: 'store',
  update_limits: 'store',
  go_on: 'owner',
  get_holds: 'store',
  put_hold: 'store',
  get_machines: 'store',
  declare_machine_lost: 'store',
  remove_machine: 'store',
  get_budgets: 'store',
  put_budget: 'store',
  continue_beyond_budget: 'owner',
  get_capabilities: 'store',
  get_session: 'store',
  get_transcript: 'store',
  get_live_text: 'owner',
  get_pending: 'store',
  set_later: 'store',
  update_me: 'store',
  get_decisions: 'store',
  search: 'store',
  get_drafts: 'store',
  put_draft: 'store',
  add_draft_file: 'store',
  get_draft_file: 'store',
  remove_draft_file: 'store',
  send_message: 'start',
  get_queue: 'store',
  edit_queued: 'store',
  release_queue: 'owner',
  send_queued: 'owner',
  remove_queued: 'store',
  approve_tool: 'store',
  answer_question: 'store',
  take_back_answer: 'store',
  dismiss_decision: 'store',
  retry_decision: 'owner',
  interrupt: 'owner',
  acknowledge_alarm: 'owner',
  acknowledge_denial: 'owner',
  get_leftovers: 'owner',
  end_leftovers: 'owner',
  get_tasks: 'owner',
  stop_task: 'owner',
  mark_task: 'owner',
  get_task_output: 'owner',
  get_mcp_servers: 'owner',
  reconnect_mcp_server: 'owner',
  set_mode: 'owner',
  set_model: 'owner',
  get_worktrees: 'project',
  get_worktree_clean_up: 'project',
  clean_worktree: 'project',
  get_trash: 'here',
  restore_trash: 'here',
  get_editors: 'here',
  open_in_editor: 'not-relayed',
  continue_in_terminal: 'owner',
  take_back: 'owner',
  get_stage_commands: 'store',
  run_stage_command: 'owner',
  get_servers: 'owner',
  start_server: 'owner',
  stop_server: 'owner',
  get_command_output: 'owner',
  stop_command: 'owner',
  get_diff_content: 'owner',
  get_comments: 'store',
  add_comment: 'owner',
  edit_comment: 'store',
  remove_comment: 'store',
  send_comments: 'owner',
  get_viewed: 'store',
  get_side_runs: 'store',
  start_side_run: 'owner',
  stop_side_run: 'owner',
  set_viewed: 'store',
  get_rules: 'store',
  list_rules: 'store',
  add_rule: 'store',
  remove_rule: 'store',
  rehearse_rule: 'store',
  get_rule_offer: 'store',
  dismiss_rule_offer: 'store',
  get_denial_retry: 'store',
  retry_denial: 'owner',
  rewind_session: 'owner',
  undo_rewind: 'owner',
  fork_stage: 'owner',
  tell_looking: 'everywhere',
  get_looking: 'here',
  get_push_devices: 'store',
  add_push_device: 'store',
  remove_push_device: 'store',
  test_push_device: 'store',
  get_webhooks: 'store',
  add_webhook: 'store',
  change_webhook: 'store',
  remove_webhook: 'store',
  test_webhook: 'store',
  get_webhook_calls: 'store',
  repeat_webhook_call: 'store',
  get_logins: 'store',
  remove_login: 'store',
  create_metrics_token: 'store',
  create_login_code: 'store',
  auth_redeem: 'store',
  auth_prove: 'store',
  auth_check: 'store',
  auth_logout: 'store',
};
