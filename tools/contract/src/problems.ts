import { z } from 'zod';
import { Decision } from './requests.ts';

/** Every way in which a command can be refused: its stable code and the matching HTTP status. */
export const problems = {
  bad_request: 400,
  not_a_repository: 400,
  no_commits: 400,
  unknown_dependency: 400,
  unknown_base: 400,
  bad_branch: 400,
  import_failed: 400,
  not_logged_in: 401,
  bad_login_link: 401,
  page_not_proven: 401,
  page_not_known: 401,
  wrong_origin: 403,
  page_only: 403,
  folder_unreadable: 403,
  not_found: 404,
  unknown_project: 404,
  unknown_stage: 404,
  unknown_request: 404,
  unknown_message: 404,
  unknown_rule: 404,
  unknown_file: 404,
  unknown_folder: 404,
  unknown_login: 404,
  unknown_trash: 404,
  unknown_process: 404,
  unknown_task: 404,
  unknown_mcp_server: 404,
  no_session: 404,
  already_decided: 409,
  request_closed: 409,
  wrong_kind: 409,
  nothing_to_settle: 409,
  already_settled: 409,
  already_running: 409,
  already_done: 409,
  not_done: 409,
  waits_for_dependency: 409,
  already_sent: 409,
  message_id_reused: 409,
  would_overwrite: 409,
  too_many_files: 409,
  stage_running: 409,
  branch_taken: 409,
  project_in_use: 409,
  project_exists: 409,
  git_settings_changed: 409,
  trust_changed: 409,
  not_running: 409,
  not_at_gate: 409,
  session_alarm: 409,
  no_alarm: 409,
  no_denial: 409,
  uncommitted_work: 409,
  head_moved: 409,
  merge_conflict: 409,
  merge_refused: 409,
  commit_refused: 409,
  undo_refused: 409,
  refused_by_claude: 409,
  mcp_not_connected: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  too_many_streams: 429,
  internal: 500,
  claude_missing: 503,
  claude_too_old: 503,
  launch_failed: 503,
  worktree_failed: 503,
  storage_failed: 503,
  disk_low: 507,
  no_confirmation: 503,
  orchestrator_unreachable: 503,
  starting: 503,
} as const;

export type ProblemCode = keyof typeof problems;
export const ProblemCode = z.enum(Object.keys(problems) as [ProblemCode, ...ProblemCode[]]);

/** A refusal on the WebSocket. */
export const CommandError = z.object({
  code: ProblemCode,
  /** What happened, what it means and what to do, for a person. */
  message: z.string(),
  /** With `already_decided`, `request_closed`, `nothing_to_settle` and `already_settled`: the decision in force. */
  decision: Decision.optional(),
});
export type CommandError = z.infer<typeof CommandError>;

/** The body of every HTTP error: `application/problem+json` (RFC 9457) with a problem code of Callboard. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: ProblemCode,
  decision: Decision.optional(),
});
export type Problem = z.infer<typeof Problem>;
