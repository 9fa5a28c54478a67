import { TransportError } from '@callboard/contract/client';
import { errorParts } from './error-parts.ts';

/** What a page can do about an error: the one button beside its words. */
export type ErrorStep =
  /** Sends the same again. */
  | 'try-again'
  /** Reads anew what the page shows. */
  | 'refresh'
  | 'reload'
  /** A command that prints a login link. */
  | 'log-in'
  /** The command that installs Claude Code, or updates it. */
  | 'mend-claude'
  | 'show-board'
  | 'show-stage'
  /** The first stage that this one waits for. */
  | 'show-dependency'
  | 'edit-stage'
  | 'start-stage'
  | 'reopen-stage'
  /** The worktree, which is not in its place: the words say what is lost. */
  | 'remake-worktree';

interface ErrorEntry {
  /** In place of the server's words, which are for whoever wrote the request; null: the server's, which name the case. */
  words: string | null;
  /** Null: what to do is in the form itself, or outside Callboard, and the words say it. */
  step: ErrorStep | null;
}

const own = (step: ErrorStep | null): ErrorEntry => ({ words: null, step });

const OLD_PAGE = 'This page is older than Callboard, so its request was not understood. Nothing was changed.';

/** Every way in which a command can fail, and what a person can do about it. */
export const errorTable: Readonly<Record<TransportError['code'], ErrorEntry>> = {
  // In a form: its fields are right there.
  bad_request: own(null),
  not_a_repository: own(null),
  no_commits: own(null),
  import_failed: own(null),
  folder_unreadable: own(null),
  unknown_folder: own(null),
  would_overwrite: own(null),
  too_many_files: own(null),
  bad_file: own(null),
  body_too_large: {
    words: 'This is too large: a message or a prompt with its files can have 25 MB. Nothing was sent.',
    step: null,
  },
  project_in_use: own(null),
  project_exists: own(null),
  message_id_reused: own(null),
  stage_changed: own(null),
  cannot_go_back: own(null),
  page_only: own(null),
  session_process: own(null),
  caller_unknown: own(null),
  // On the page that lists the devices.
  unknown_device: own('refresh'),
  push_failed: own(null),
  unknown_machine: own('refresh'),
  machine_reachable: own('refresh'),
  ambiguous_machine: own(null),
  machine_not_lost: own('refresh'),
  machine_unreachable: own('try-again'),
  no_machine: own(null),
  lease_lost: own('try-again'),
  unknown_webhook: own('refresh'),
  unknown_call: own('refresh'),
  webhook_failed: own(null),
  // What a stage was given.
  unknown_dependency: own('edit-stage'),
  unknown_base: own('edit-stage'),
  unknown_pipeline: own('edit-stage'),
  bad_branch: own('edit-stage'),
  // What the project runs in a worktree.
  unknown_command: own('refresh'),
  unknown_server: own('refresh'),
  unknown_side_run: own('refresh'),
  command_running: own('refresh'),
  no_command: own(null),
  no_editor: own(null),
  not_this_machine: own(null),
  no_worktree: own('start-stage'),
  settings_invalid: own(null),
  settings_not_agreed: own(null),
  setup_failed: own(null),
  fetch_failed: own('try-again'),
  branch_taken: own('edit-stage'),
  // Logins.
  not_logged_in: own('log-in'),
  bad_login_link: own('log-in'),
  page_not_known: own('log-in'),
  page_not_proven: own('try-again'),
  wrong_origin: {
    words: 'Callboard does not answer at this address. Open it with a login link.',
    step: 'log-in',
  },
  // It is gone, or somebody was first.
  unknown_project: own('show-board'),
  unknown_stage: own('show-board'),
  unknown_request: own('refresh'),
  unknown_message: own('refresh'),
  unknown_conversation: own('refresh'),
  conversation_adopted: own('refresh'),
  unknown_comment: own('refresh'),
  comment_sent: own('refresh'),
  no_comments: own('refresh'),
  not_your_comment: own(null),
  unknown_rule: own('refresh'),
  not_denied: own('refresh'),
  cannot_allow: own(null),
  unknown_file: own('refresh'),
  unknown_login: own('refresh'),
  unknown_trash: own('refresh'),
  unknown_worktree: own('refresh'),
  worktree_stays: own('refresh'),
  worktree_replaced: own('remake-worktree'),
  branch_left: own('show-stage'),
  unknown_process: own('refresh'),
  unknown_task: own('refresh'),
  unknown_mcp_server: own('refresh'),
  already_decided: own('refresh'),
  request_closed: own('refresh'),
  answer_held: own('refresh'),
  not_at_limit: own('refresh'),
  reset_unknown: own(null),
  nothing_to_settle: own('refresh'),
  already_settled: own('refresh'),
  already_sent: own('refresh'),
  not_done: own('refresh'),
  not_at_gate: own('refresh'),
  no_check: own('refresh'),
  no_alarm: own('refresh'),
  no_spent_budget: own('refresh'),
  not_in_terminal: own('refresh'),
  no_denial: own('refresh'),
  git_settings_changed: own('refresh'),
  trust_changed: own('refresh'),
  head_moved: own('refresh'),
  // The stage is not where it would have to be.
  no_session: own('start-stage'),
  already_done: own('reopen-stage'),
  waits_for_dependency: own('show-dependency'),
  already_running: own('show-stage'),
  stage_running: own('show-stage'),
  background_work: own('show-stage'),
  not_running: own('show-stage'),
  session_alarm: own('show-stage'),
  budget_spent: own('show-stage'),
  in_terminal: own('show-stage'),
  uncommitted_work: own('show-stage'),
  merge_conflict: own('show-stage'),
  undo_refused: own('show-stage'),
  refused_by_claude: own('show-stage'),
  no_pull_request: own('show-stage'),
  nothing_to_send: own('refresh'),
  // Something outside has to be mended, and then the same works.
  merge_refused: own('try-again'),
  commit_refused: own('try-again'),
  no_remote: own('try-again'),
  no_code_host: own('try-again'),
  code_host_login: own('try-again'),
  code_host_unreachable: own('try-again'),
  push_refused: own('try-again'),
  pull_request_refused: own('try-again'),
  mcp_not_connected: own('try-again'),
  launch_failed: own('try-again'),
  worktree_failed: own('try-again'),
  search_unavailable: own('try-again'),
  storage_failed: own('try-again'),
  disk_low: own('try-again'),
  no_confirmation: own('try-again'),
  orchestrator_unreachable: own('try-again'),
  reply_lost: own('try-again'),
  starting: own('try-again'),
  too_many_requests: own('try-again'),
  internal: own('try-again'),
  network: own('try-again'),
  claude_missing: own('mend-claude'),
  claude_too_old: own('mend-claude'),
  // The page is older than the server, or has too much open.
  not_found: { words: OLD_PAGE, step: 'reload' },
  wrong_kind: { words: OLD_PAGE, step: 'reload' },
  unsupported_media_type: { words: OLD_PAGE, step: 'reload' },
  unreadable: own('reload'),
  too_many_streams: own('reload'),
};

/** An error for a person: the cause first, what only some want to read apart from it, and what can be done. */
export interface ErrorDescription {
  text: string;
  details: string | null;
  step: ErrorStep | null;
}

export function describeError(error: unknown): ErrorDescription {
  const parts = errorParts(error);
  if (!(error instanceof TransportError)) return { ...parts, step: null };
  const { words, step } = errorTable[error.code];
  return { ...parts, text: words ?? parts.text, step };
}
