import { z } from 'zod';
import { Decision } from './approvals.ts';

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

/** A way in which a command can be refused. */
export interface ProblemDefinition {
  /** The HTTP status. */
  status: number;
  /** For the API's reference. */
  meaning: string;
  /** In place of the server's words, which are for whoever wrote the request. */
  text?: string;
  /** Without one, what to do is in the form itself, or outside Callboard, and the words say it. */
  step?: ErrorStep;
}

const OLD_PAGE = 'This page is older than Callboard, so its request was not understood. Nothing was changed.';

/** Every way in which a command can be refused, by its stable code. */
export const problems = {
  bad_request: { status: 400, meaning: 'A field is missing, unknown or invalid; `detail` names it.' },
  not_a_repository: { status: 400, meaning: 'The folder is not a git repository.' },
  no_commits: { status: 400, meaning: 'The repository has no commit yet, so no branch can begin in it.' },
  unknown_dependency: {
    status: 400,
    meaning: 'A dependency does not exist, or depends on the stage itself.',
    step: 'edit-stage',
  },
  unknown_base: {
    status: 400,
    meaning: 'The repository has no branch, tag or commit of the name in `base`.',
    step: 'edit-stage',
  },
  unknown_pipeline: {
    status: 400,
    meaning: 'The project has no pipeline of the name in `pipeline`; `detail` lists those that it has.',
    step: 'edit-stage',
  },
  bad_branch: { status: 400, meaning: 'Git does not accept this name for a branch.', step: 'edit-stage' },
  bad_file: {
    status: 400,
    meaning: 'An attached image or PDF document is cut off, or its content is something else; `detail` names it.',
  },
  import_failed: { status: 400, meaning: 'A file is invalid; nothing was imported.' },
  not_logged_in: { status: 401, meaning: 'There is no login, or it has ended.', step: 'log-in' },
  bad_login_link: { status: 401, meaning: 'The login link was already used, or has expired.', step: 'log-in' },
  page_not_proven: {
    status: 401,
    meaning:
      'The cookie came without a page token, or the token is from before a restart of the server: prove the page again and repeat the request.',
    step: 'try-again',
  },
  page_not_known: {
    status: 401,
    meaning: 'The page does not hold the key of its login, or has another origin: get a new login link.',
    step: 'log-in',
  },
  wrong_origin: {
    status: 403,
    meaning: 'The request comes from a page of another site, or uses a foreign host name.',
    text: 'Callboard does not answer at this address. Open it with a login link.',
    step: 'log-in',
  },
  page_only: { status: 403, meaning: 'Only a page of a logged-in browser may do this, not an API token.' },
  session_process: {
    status: 403,
    meaning:
      'A process that a session or a command of a stage started cannot act as a person; the stage is under alarm.',
  },
  caller_unknown: {
    status: 403,
    meaning:
      'It is unknown which process sent the token, and a session without a sandbox, which could read it, runs here.',
  },
  folder_unreadable: { status: 403, meaning: 'Callboard may not list this folder.' },
  not_your_comment: { status: 403, meaning: 'The draft belongs to another person.' },
  not_found: {
    status: 404,
    meaning: 'There is no such address, or no such event stream.',
    text: OLD_PAGE,
    step: 'reload',
  },
  unknown_project: { status: 404, meaning: 'There is no such project.', step: 'show-board' },
  unknown_stage: { status: 404, meaning: 'There is no such stage.', step: 'show-board' },
  unknown_request: { status: 404, meaning: 'This stage has no such request.', step: 'refresh' },
  unknown_message: { status: 404, meaning: 'This stage has no such message.', step: 'refresh' },
  unknown_comment: {
    status: 404,
    meaning: 'The stage has no such comment; it may have been removed.',
    step: 'refresh',
  },
  unknown_conversation: {
    status: 404,
    meaning: 'The project has no such conversation that no stage has; Claude Code may have deleted it.',
    step: 'refresh',
  },
  unknown_rule: { status: 404, meaning: 'There is no such rule.', step: 'refresh' },
  not_denied: { status: 409, meaning: 'Claude Code did not deny this call by itself.', step: 'refresh' },
  cannot_allow: {
    status: 409,
    meaning: 'No rule could let the denied call run; `detail` says why, and what to do instead.',
  },
  unknown_file: {
    status: 404,
    meaning: 'The file was removed, or sent with a message, or never belonged to this stage.',
    step: 'refresh',
  },
  unknown_folder: { status: 404, meaning: 'There is no such folder.' },
  unknown_login: { status: 404, meaning: 'There is no such login; it may have ended already.', step: 'refresh' },
  unknown_device: { status: 404, meaning: 'No notifications are pushed to such a device of yours.', step: 'refresh' },
  unknown_webhook: { status: 404, meaning: 'There is no such webhook; it may have been removed.', step: 'refresh' },
  unknown_call: {
    status: 404,
    meaning: 'The webhook has no such call any more: calls are kept for a week after nobody was needed.',
    step: 'refresh',
  },
  unknown_machine: { status: 404, meaning: 'No machine has this name or id.', step: 'refresh' },
  unknown_trash: {
    status: 404,
    meaning: 'The entry is no longer in the trash: it was restored, or deleted because of its age.',
    step: 'refresh',
  },
  unknown_worktree: {
    status: 404,
    meaning: 'The project has no worktree of that name; it may have been cleaned up already.',
    step: 'refresh',
  },
  worktree_stays: {
    status: 409,
    meaning: 'The worktree cannot be cleaned up now; the message says why. Nothing was changed.',
    step: 'refresh',
  },
  worktree_replaced: {
    status: 409,
    meaning:
      'Something else stands in the place of the worktree, or nothing, so nothing was run. The message says what, and what making it again would lose.',
    step: 'remake-worktree',
  },
  branch_left: {
    status: 409,
    meaning:
      "The worktree is not on the stage's branch, so its work would be left out. Take what it is at as the stage's branch, or go back; the message says where it is.",
    step: 'show-stage',
  },
  unknown_command: {
    status: 404,
    meaning: 'The stage has no such run of a command, or it is no longer kept.',
    step: 'refresh',
  },
  unknown_server: { status: 404, meaning: 'The project has no dev server of that name.', step: 'refresh' },
  unknown_side_run: {
    status: 404,
    meaning: 'The stage has no such review or text; only the newest are kept.',
    step: 'refresh',
  },
  unknown_process: {
    status: 404,
    meaning: 'The session left no such process running, or it has ended; nothing was ended.',
    step: 'refresh',
  },
  unknown_task: {
    status: 404,
    meaning: 'There is no such background task, or it has no output; it may have ended already.',
    step: 'refresh',
  },
  unknown_mcp_server: { status: 404, meaning: 'The session has no MCP server of that name.', step: 'refresh' },
  no_session: { status: 404, meaning: 'The stage was never started.', step: 'start-stage' },
  already_decided: {
    status: 409,
    meaning: 'Somebody else was first; `decision` is the decision that stands.',
    step: 'refresh',
  },
  request_closed: {
    status: 409,
    meaning: 'The request was withdrawn, timed out, or its process ended; `decision` says which.',
    step: 'refresh',
  },
  answer_held: {
    status: 409,
    meaning:
      'Somebody is answering it: their answer is sent in a moment, unless they take it back. Only they can do that.',
    step: 'refresh',
  },
  wrong_kind: {
    status: 409,
    meaning: 'Questions are answered, all other requests are approved or denied; this request is of the other kind.',
    text: OLD_PAGE,
    step: 'reload',
  },
  nothing_to_settle: {
    status: 409,
    meaning: 'The outcome of this answer is known, or there is no answer; `decision` says which.',
    step: 'refresh',
  },
  not_at_limit: {
    status: 409,
    meaning: 'The stage does not wait for a usage limit; it may have gone on already.',
    step: 'refresh',
  },
  reset_unknown: { status: 409, meaning: 'Claude Code did not say when the usage limit resets.' },
  already_settled: {
    status: 409,
    meaning: 'Somebody has settled it already; `decision` says who, and how.',
    step: 'refresh',
  },
  already_running: { status: 409, meaning: 'The stage is already running.', step: 'show-stage' },
  already_done: { status: 409, meaning: 'The stage is done; reopen it or send it a message.', step: 'reopen-stage' },
  not_done: {
    status: 409,
    meaning: 'The stage is not done, so there is nothing to reopen or take back.',
    step: 'refresh',
  },
  waits_for_dependency: {
    status: 409,
    meaning: 'A dependency is not done; `detail` names it.',
    step: 'show-dependency',
  },
  already_sent: { status: 409, meaning: 'The message is on its way and can no longer be changed.', step: 'refresh' },
  message_id_reused: { status: 409, meaning: 'Another message of this stage has this id.' },
  comment_sent: {
    status: 409,
    meaning: 'The comment was sent already, so it can no longer be changed.',
    step: 'refresh',
  },
  no_comments: { status: 409, meaning: 'There is no comment to send.', step: 'refresh' },
  conversation_adopted: {
    status: 409,
    meaning: 'A stage continues this conversation already; `detail` names it.',
    step: 'refresh',
  },
  would_overwrite: { status: 409, meaning: 'A file of that name exists already; nothing was restored.' },
  too_many_files: { status: 409, meaning: 'The message has too many files, or they are too large.' },
  stage_running: { status: 409, meaning: 'The stage is running; stop it first.', step: 'show-stage' },
  background_work: {
    status: 409,
    meaning: 'The stage still waits for a background command; stop the command, or mark it as meant to keep running.',
    step: 'show-stage',
  },
  cannot_go_back: {
    status: 409,
    meaning: 'The stage cannot go back to that message, or there is nothing to undo; `detail` says why.',
  },
  branch_taken: {
    status: 409,
    meaning: 'The branch exists already, or another stage is to create it; choose another name.',
    step: 'edit-stage',
  },
  project_in_use: { status: 409, meaning: 'The project has stages; remove them first.' },
  project_exists: { status: 409, meaning: 'The repository is already registered.' },
  git_settings_changed: {
    status: 409,
    meaning: 'The git settings of the repository have changed since they were shown; look again.',
    step: 'refresh',
  },
  trust_changed: {
    status: 409,
    meaning: 'The settings have changed since they were shown; look again.',
    step: 'refresh',
  },
  no_worktree: { status: 409, meaning: 'The stage has no worktree yet.', step: 'start-stage' },
  no_command: { status: 409, meaning: 'The project has no such command.' },
  no_editor: { status: 409, meaning: 'No editor was found, or its command failed; the message says why.' },
  not_this_machine: {
    status: 409,
    meaning: 'The request came from another machine, on which no editor can be opened.',
  },
  machine_reachable: {
    status: 409,
    meaning: 'The machine answers, so it is not lost. Stop Callboard there first.',
    step: 'refresh',
  },
  machine_not_lost: { status: 409, meaning: 'Only a machine that was declared lost can be removed.', step: 'refresh' },
  ambiguous_machine: { status: 409, meaning: 'Several machines have this name. Use the id of one.' },
  command_running: { status: 409, meaning: 'This command is already running in the stage.', step: 'refresh' },
  settings_invalid: { status: 409, meaning: '`callboard.yaml` cannot be used; `detail` names the line and the key.' },
  settings_not_agreed: { status: 409, meaning: 'Nobody has agreed to what `callboard.yaml` would run.' },
  not_running: { status: 409, meaning: 'The session has no process or no running turn.', step: 'show-stage' },
  not_at_gate: { status: 409, meaning: 'The stage is not waiting at a gate.', step: 'refresh' },
  session_alarm: {
    status: 409,
    meaning: 'The session is under alarm; a person has to acknowledge it first.',
    step: 'show-stage',
  },
  no_alarm: { status: 409, meaning: 'The session is not under alarm.', step: 'refresh' },
  budget_spent: {
    status: 409,
    meaning: 'A budget of the stage is spent; `detail` says which. Raise it, or continue the stage once beyond it.',
    step: 'show-stage',
  },
  no_spent_budget: { status: 409, meaning: 'No spent budget keeps the stage from its work.', step: 'refresh' },
  in_terminal: {
    status: 409,
    meaning: 'A person continues the conversation in a terminal; take it back first.',
    step: 'show-stage',
  },
  not_in_terminal: { status: 409, meaning: 'The conversation is not in a terminal.', step: 'refresh' },
  no_denial: {
    status: 409,
    meaning: 'There is no open denial by Claude Code; somebody may have acknowledged it already.',
    step: 'refresh',
  },
  no_check: {
    status: 409,
    meaning: 'There is no check to run, to stop or to tell of; `detail` says why.',
    step: 'refresh',
  },
  uncommitted_work: {
    status: 409,
    meaning: 'There is uncommitted work that this would lose or leave out.',
    step: 'show-stage',
  },
  head_moved: {
    status: 409,
    meaning: 'The branch or its files have changed since they were shown; `detail` says how. Look again.',
    step: 'refresh',
  },
  stage_changed: {
    status: 409,
    meaning: 'The title or the prompt was changed since it was shown; `detail` says what it is now. Nothing was saved.',
  },
  merge_conflict: { status: 409, meaning: 'The branches change the same lines; merge by hand.', step: 'show-stage' },
  merge_refused: { status: 409, meaning: 'The merge is not possible now; `detail` says why.', step: 'try-again' },
  commit_refused: {
    status: 409,
    meaning: 'Git did not commit; `detail` says why, with the words of a hook. Nothing has changed.',
    step: 'try-again',
  },
  undo_refused: {
    status: 409,
    meaning: 'The merge can no longer be taken back; `detail` says why. Nothing has changed.',
    step: 'show-stage',
  },
  no_remote: { status: 409, meaning: 'The repository has no remote to push to.', step: 'try-again' },
  no_code_host: {
    status: 409,
    meaning: 'Neither `gh` nor `glab` can be used for the remote: `detail` says why.',
    step: 'try-again',
  },
  code_host_login: {
    status: 409,
    meaning: '`gh` or `glab` is not logged in to the code host; `detail` says how to log in.',
    step: 'try-again',
  },
  push_refused: {
    status: 409,
    meaning: 'The branch was not pushed; `detail` says why, with the words of git, a hook or the remote.',
    step: 'try-again',
  },
  pull_request_refused: { status: 409, meaning: 'The code host did not do it; `detail` says why.', step: 'try-again' },
  no_pull_request: { status: 409, meaning: 'The stage has no pull request.', step: 'show-stage' },
  nothing_to_send: {
    status: 409,
    meaning: 'None of the chosen checks still fails, and none of the chosen comments is unresolved; nothing was sent.',
    step: 'refresh',
  },
  refused_by_claude: { status: 409, meaning: 'Claude Code refused; `detail` has its message.', step: 'show-stage' },
  mcp_not_connected: {
    status: 409,
    meaning: 'The MCP server could not be reached; `detail` says why.',
    step: 'try-again',
  },
  body_too_large: {
    status: 413,
    meaning: 'The body is larger than this route allows.',
    text: 'This is too large: a message or a prompt with its files can have 25 MB. Nothing was sent.',
  },
  unsupported_media_type: { status: 415, meaning: 'The body is not JSON.', text: OLD_PAGE, step: 'reload' },
  too_many_requests: {
    status: 429,
    meaning: 'Too many requests in a short time; `Retry-After` says when to continue.',
    step: 'try-again',
  },
  too_many_streams: { status: 429, meaning: 'The login has reached its limit of open event streams.', step: 'reload' },
  internal: { status: 500, meaning: 'A bug in Callboard; the log has the details.', step: 'try-again' },
  claude_missing: {
    status: 503,
    meaning: 'Claude Code is not installed, or not where Callboard looks for it.',
    step: 'mend-claude',
  },
  claude_too_old: {
    status: 503,
    meaning: 'The installed Claude Code is too old for Callboard; `detail` names its version and how to update.',
    step: 'mend-claude',
  },
  launch_failed: {
    status: 503,
    meaning: 'Claude Code could not be started; `detail` has its message.',
    step: 'try-again',
  },
  worktree_failed: {
    status: 503,
    meaning: 'Git could not create or change the worktree; `detail` has its message.',
    step: 'try-again',
  },
  setup_failed: { status: 503, meaning: 'The set-up of the worktree did not succeed, so Claude was not started.' },
  fetch_failed: {
    status: 503,
    meaning: 'Nothing could be fetched before the stage begins; it can be started with what the repository has.',
    step: 'try-again',
  },
  storage_failed: {
    status: 503,
    meaning: 'The change could not be stored (because of a full disk, for example); it did not happen.',
    step: 'try-again',
  },
  search_unavailable: {
    status: 503,
    meaning: 'The index cannot be read or built now; `detail` says why. It is tried again by itself.',
    step: 'try-again',
  },
  disk_low: {
    status: 507,
    meaning: 'The disk of the data directory has too little free space, so nothing is started; `detail` says how much.',
    step: 'try-again',
  },
  no_confirmation: {
    status: 503,
    meaning: 'No answer came in time; check the state to see whether it happened.',
    step: 'try-again',
  },
  code_host_unreachable: {
    status: 503,
    meaning: 'The code host cannot be reached, or allows no further requests for a while.',
    step: 'try-again',
  },
  push_failed: { status: 503, meaning: 'The push service of the browser did not take the message; `detail` says why.' },
  webhook_failed: { status: 503, meaning: 'The receiver did not take the test; `detail` says why.' },
  orchestrator_unreachable: {
    status: 503,
    meaning: 'The orchestrator is unreachable or restarting. Nothing was changed.',
    step: 'try-again',
  },
  reply_lost: {
    status: 503,
    meaning:
      'The connection to the orchestrator was lost before its reply, so it may have been done. Send the same again with its `Idempotency-Key`, or check the state.',
    step: 'try-again',
  },
  machine_unreachable: {
    status: 503,
    meaning:
      'The machine that has the stage or the repository does not answer; `detail` names it and says since when. Nothing was changed.',
    step: 'try-again',
  },
  no_machine: {
    status: 503,
    meaning: 'No connected machine has the repository, or the one that is named in `machine`.',
  },
  lease_lost: {
    status: 503,
    meaning:
      'This machine could not renew its lease, or was declared lost, so it changes nothing until it has a new one.',
    step: 'try-again',
  },
  starting: { status: 503, meaning: 'The orchestrator is not ready yet.', step: 'try-again' },
} as const satisfies Record<string, ProblemDefinition>;

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
