import type { CommandType } from '../commands.ts';

/** Commands without a route: they serve the web server itself, or one event stream. */
type Unrouted = 'get_counts' | 'get_metrics' | 'get_events' | 'watch' | `auth_${string}`;
export type RoutedCommand = Exclude<CommandType, Unrouted>;

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Each `:name` is a field of the command. The other fields go into the query of a GET, else into the body. */
  path: string;
  /** The field that is the whole body. */
  body?: string;
}

/** The REST route of each command: the only table of paths, shared by the web server and its clients. */
export const routes: { readonly [T in RoutedCommand]: Route } = {
  get_board: { method: 'GET', path: '/api/board' },
  get_pending: { method: 'GET', path: '/api/pending' },
  take_back_answer: { method: 'DELETE', path: '/api/pending/:requestId/answer' },
  set_later: { method: 'PUT', path: '/api/pending/:requestId/later' },
  update_me: { method: 'PATCH', path: '/api/me' },
  get_limits: { method: 'GET', path: '/api/limits' },
  update_limits: { method: 'PATCH', path: '/api/limits' },
  get_holds: { method: 'GET', path: '/api/holds' },
  put_hold: { method: 'PUT', path: '/api/holds' },
  get_machines: { method: 'GET', path: '/api/machines' },
  declare_machine_lost: { method: 'POST', path: '/api/machines/:machineId/declare-lost' },
  remove_machine: { method: 'DELETE', path: '/api/machines/:machineId' },
  tell_looking: { method: 'PUT', path: '/api/me/looking' },
  get_looking: { method: 'GET', path: '/api/me/looking' },
  get_decisions: { method: 'GET', path: '/api/decisions' },
  get_numbers: { method: 'GET', path: '/api/numbers' },
  search: { method: 'GET', path: '/api/search' },

  create_project: { method: 'POST', path: '/api/projects' },
  list_folders: { method: 'GET', path: '/api/folders' },
  get_projects: { method: 'GET', path: '/api/projects' },
  update_project: { method: 'PATCH', path: '/api/projects/:projectId' },
  remove_project: { method: 'DELETE', path: '/api/projects/:projectId' },
  agree_git_settings: { method: 'POST', path: '/api/projects/:projectId/git-settings' },
  import_stages: { method: 'POST', path: '/api/projects/:projectId/import' },
  get_conversations: { method: 'GET', path: '/api/projects/:projectId/conversations' },
  adopt_conversation: { method: 'POST', path: '/api/projects/:projectId/adopt' },
  export_stages: { method: 'POST', path: '/api/projects/:projectId/export' },
  get_issues: { method: 'GET', path: '/api/projects/:projectId/issues' },
  import_issues: { method: 'POST', path: '/api/projects/:projectId/issues/import' },
  suggest_project_files: { method: 'GET', path: '/api/projects/:projectId/files' },
  get_branches: { method: 'GET', path: '/api/projects/:projectId/branches' },
  get_trust: { method: 'GET', path: '/api/projects/:projectId/trust' },
  trust_project: { method: 'POST', path: '/api/projects/:projectId/trust' },
  agree_rules: { method: 'POST', path: '/api/projects/:projectId/trust/rules' },
  get_rules: { method: 'GET', path: '/api/projects/:projectId/rules' },
  list_rules: { method: 'GET', path: '/api/rules' },
  add_rule: { method: 'POST', path: '/api/rules' },
  rehearse_rule: { method: 'POST', path: '/api/rules/rehearse' },
  dismiss_rule_offer: { method: 'POST', path: '/api/rules/dismiss' },
  remove_rule: { method: 'DELETE', path: '/api/rules/:ruleId' },

  get_budgets: { method: 'GET', path: '/api/budgets' },
  put_budget: { method: 'PUT', path: '/api/budgets' },
  continue_beyond_budget: { method: 'POST', path: '/api/stages/:stageId/continue-beyond-budget' },

  get_logins: { method: 'GET', path: '/api/logins' },
  remove_login: { method: 'DELETE', path: '/api/logins/:loginId' },
  create_metrics_token: { method: 'POST', path: '/api/logins/metrics' },
  create_login_code: { method: 'POST', path: '/api/logins/code' },

  get_push_devices: { method: 'GET', path: '/api/push/subscriptions' },
  add_push_device: { method: 'POST', path: '/api/push/subscriptions' },
  remove_push_device: { method: 'DELETE', path: '/api/push/subscriptions/:deviceId' },
  test_push_device: { method: 'POST', path: '/api/push/subscriptions/:deviceId/test' },

  get_webhooks: { method: 'GET', path: '/api/webhooks' },
  add_webhook: { method: 'POST', path: '/api/webhooks' },
  change_webhook: { method: 'PATCH', path: '/api/webhooks/:webhookId', body: 'patch' },
  remove_webhook: { method: 'DELETE', path: '/api/webhooks/:webhookId' },
  test_webhook: { method: 'POST', path: '/api/webhooks/:webhookId/test' },
  get_webhook_calls: { method: 'GET', path: '/api/webhooks/:webhookId/calls' },
  repeat_webhook_call: { method: 'POST', path: '/api/webhooks/:webhookId/calls/:callId/repeat' },

  get_capabilities: { method: 'GET', path: '/api/capabilities' },

  create_stage: { method: 'POST', path: '/api/stages' },
  get_stage: { method: 'GET', path: '/api/stages/:stageId' },
  get_attachment: { method: 'GET', path: '/api/stages/:stageId/attachments/:fileId' },
  update_stage: { method: 'PATCH', path: '/api/stages/:stageId', body: 'patch' },
  get_removal: { method: 'GET', path: '/api/stages/:stageId/removal' },
  remove_stage: { method: 'DELETE', path: '/api/stages/:stageId' },
  get_diff: { method: 'GET', path: '/api/stages/:stageId/diff' },
  get_diff_content: { method: 'GET', path: '/api/stages/:stageId/diff/content' },
  get_comments: { method: 'GET', path: '/api/stages/:stageId/comments' },
  add_comment: { method: 'POST', path: '/api/stages/:stageId/comments' },
  edit_comment: { method: 'PATCH', path: '/api/stages/:stageId/comments/:commentId' },
  remove_comment: { method: 'DELETE', path: '/api/stages/:stageId/comments/:commentId' },
  send_comments: { method: 'POST', path: '/api/stages/:stageId/comments/send' },
  fork_stage: { method: 'POST', path: '/api/stages/:stageId/fork' },
  get_viewed: { method: 'GET', path: '/api/stages/:stageId/viewed' },
  set_viewed: { method: 'PUT', path: '/api/stages/:stageId/viewed' },
  get_side_runs: { method: 'GET', path: '/api/stages/:stageId/side-runs' },
  start_side_run: { method: 'POST', path: '/api/stages/:stageId/side-runs' },
  stop_side_run: { method: 'POST', path: '/api/stages/:stageId/side-runs/:runId/stop' },
  suggest_files: { method: 'GET', path: '/api/stages/:stageId/files' },
  start_stage: { method: 'POST', path: '/api/stages/:stageId/start' },
  advance_stage: { method: 'POST', path: '/api/stages/:stageId/advance' },
  stop_stage: { method: 'POST', path: '/api/stages/:stageId/stop' },
  get_checks: { method: 'GET', path: '/api/stages/:stageId/checks' },
  get_phases: { method: 'GET', path: '/api/stages/:stageId/phases' },
  run_check: { method: 'POST', path: '/api/stages/:stageId/checks/run' },
  stop_check: { method: 'POST', path: '/api/stages/:stageId/checks/stop' },
  send_check: { method: 'POST', path: '/api/stages/:stageId/checks/send' },
  reopen_stage: { method: 'POST', path: '/api/stages/:stageId/reopen' },
  get_completion: { method: 'GET', path: '/api/stages/:stageId/completion' },
  take_out_placeholders: { method: 'POST', path: '/api/stages/:stageId/placeholders/take-out' },
  complete_stage: { method: 'POST', path: '/api/stages/:stageId/complete' },
  get_receipt: { method: 'GET', path: '/api/stages/:stageId/receipt' },
  get_pull_request: { method: 'GET', path: '/api/stages/:stageId/pull-request' },
  open_pull_request: { method: 'POST', path: '/api/stages/:stageId/pull-request' },
  refresh_pull_request: { method: 'POST', path: '/api/stages/:stageId/pull-request/refresh' },
  get_feedback: { method: 'GET', path: '/api/stages/:stageId/pull-request/feedback' },
  send_feedback: { method: 'POST', path: '/api/stages/:stageId/pull-request/feedback' },
  undo_completion: { method: 'POST', path: '/api/stages/:stageId/undo' },
  remake_worktree: { method: 'POST', path: '/api/stages/:stageId/worktree/remake' },
  take_branch: { method: 'POST', path: '/api/stages/:stageId/branch/take' },
  go_back_to_branch: { method: 'POST', path: '/api/stages/:stageId/branch/go-back' },
  get_worktrees: { method: 'GET', path: '/api/projects/:projectId/worktrees' },
  get_worktree_clean_up: { method: 'GET', path: '/api/projects/:projectId/worktrees/:name/clean-up' },
  clean_worktree: { method: 'POST', path: '/api/projects/:projectId/worktrees/:name/clean-up' },
  get_trash: { method: 'GET', path: '/api/trash' },
  restore_trash: { method: 'POST', path: '/api/trash/:trashId/restore' },

  get_editors: { method: 'GET', path: '/api/editors' },
  open_in_editor: { method: 'POST', path: '/api/stages/:stageId/editor' },
  get_stage_commands: { method: 'GET', path: '/api/stages/:stageId/commands' },
  run_stage_command: { method: 'POST', path: '/api/stages/:stageId/commands' },
  get_servers: { method: 'GET', path: '/api/stages/:stageId/servers' },
  start_server: { method: 'POST', path: '/api/stages/:stageId/servers/:name/start' },
  stop_server: { method: 'POST', path: '/api/stages/:stageId/servers/:name/stop' },
  get_command_output: { method: 'GET', path: '/api/stages/:stageId/commands/:commandId/output' },
  stop_command: { method: 'POST', path: '/api/stages/:stageId/commands/:commandId/stop' },

  get_session: { method: 'GET', path: '/api/sessions/:stageId' },
  get_transcript: { method: 'GET', path: '/api/sessions/:stageId/transcript' },
  rewind_session: { method: 'POST', path: '/api/sessions/:stageId/rewind' },
  undo_rewind: { method: 'POST', path: '/api/sessions/:stageId/rewind/undo' },
  get_live_text: { method: 'GET', path: '/api/sessions/:stageId/live-text' },
  continue_in_terminal: { method: 'POST', path: '/api/sessions/:stageId/terminal' },
  take_back: { method: 'DELETE', path: '/api/sessions/:stageId/terminal' },
  send_message: { method: 'POST', path: '/api/sessions/:stageId/message' },
  get_queue: { method: 'GET', path: '/api/sessions/:stageId/queue' },
  edit_queued: { method: 'PATCH', path: '/api/sessions/:stageId/queue/:messageId', body: 'patch' },
  release_queue: { method: 'POST', path: '/api/sessions/:stageId/queue/release' },
  get_drafts: { method: 'GET', path: '/api/sessions/:stageId/drafts' },
  put_draft: { method: 'POST', path: '/api/sessions/:stageId/drafts' },
  add_draft_file: { method: 'POST', path: '/api/sessions/:stageId/files' },
  get_draft_file: { method: 'GET', path: '/api/sessions/:stageId/files/:fileId' },
  remove_draft_file: { method: 'DELETE', path: '/api/sessions/:stageId/files/:fileId' },
  send_queued: { method: 'POST', path: '/api/sessions/:stageId/queue/:messageId/send' },
  remove_queued: { method: 'DELETE', path: '/api/sessions/:stageId/queue/:messageId' },
  approve_tool: { method: 'POST', path: '/api/sessions/:stageId/approve' },
  answer_question: { method: 'POST', path: '/api/sessions/:stageId/answer' },
  dismiss_decision: { method: 'POST', path: '/api/sessions/:stageId/decisions/:requestId/dismiss' },
  retry_decision: { method: 'POST', path: '/api/sessions/:stageId/decisions/:requestId/retry' },
  get_rule_offer: { method: 'GET', path: '/api/sessions/:stageId/decisions/:requestId/rule-offer' },
  get_denial_retry: { method: 'GET', path: '/api/sessions/:stageId/decisions/:requestId/allow-and-retry' },
  retry_denial: { method: 'POST', path: '/api/sessions/:stageId/decisions/:requestId/allow-and-retry' },
  interrupt: { method: 'POST', path: '/api/sessions/:stageId/interrupt' },
  go_on: { method: 'POST', path: '/api/sessions/:stageId/go-on' },
  acknowledge_denial: { method: 'POST', path: '/api/sessions/:stageId/denial/acknowledge' },
  acknowledge_alarm: { method: 'POST', path: '/api/sessions/:stageId/alarm/acknowledge' },
  get_leftovers: { method: 'GET', path: '/api/sessions/:stageId/processes' },
  end_leftovers: { method: 'POST', path: '/api/sessions/:stageId/processes/end' },
  get_tasks: { method: 'GET', path: '/api/sessions/:stageId/tasks' },
  stop_task: { method: 'POST', path: '/api/sessions/:stageId/tasks/:taskId/stop' },
  mark_task: { method: 'POST', path: '/api/sessions/:stageId/tasks/:taskId/mark' },
  get_task_output: { method: 'GET', path: '/api/sessions/:stageId/tasks/:taskId/output' },
  get_mcp_servers: { method: 'GET', path: '/api/sessions/:stageId/mcp' },
  reconnect_mcp_server: { method: 'POST', path: '/api/sessions/:stageId/mcp/:name/reconnect' },
  set_mode: { method: 'POST', path: '/api/sessions/:stageId/mode' },
  set_model: { method: 'POST', path: '/api/sessions/:stageId/model' },
};

/** Routes of the web server itself, which are no commands or take another form. */
export const serviceRoutes = {
  health: { method: 'GET', path: '/api/health' },
  logIn: { method: 'POST', path: '/api/login' },
  loginNonce: { method: 'GET', path: '/api/login/nonce' },
  loginProof: { method: 'POST', path: '/api/login/proof' },
  logOut: { method: 'POST', path: '/api/logout' },
  events: { method: 'GET', path: '/api/events' },
  watch: { method: 'PUT', path: '/api/events/:streamId/watch' },
} as const satisfies Record<string, Route>;

/** Returns the fields in a route's path. */
export const pathFields = ({ path }: Route): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');

/** Returns the URL and body of a command as an HTTP request. */
export function toRequest(route: Route, input: object): { url: string; body: unknown } {
  const fields: [string, unknown][] = Object.entries(input);
  const named = pathFields(route);
  const values = new Map(fields);
  const url = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values.get(name))));
  const rest = fields.filter(([name, value]) => !named.includes(name) && value !== undefined);
  if (route.method !== 'GET') {
    const whole = Object.fromEntries(rest);
    return { url, body: route.body === undefined ? whole : whole[route.body] };
  }
  const query = new URLSearchParams(rest.map(([name, value]) => [name, String(value)]));
  return { url: query.size === 0 ? url : `${url}?${query}`, body: undefined };
}
