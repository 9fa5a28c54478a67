import { type CommandInput, type CommandReply, SessionSummary, Stage } from '@callboard/contract';
import type { RoutedCommand } from '@callboard/contract/client';
import * as the from './example-values.ts';
import { holdExamples } from './hold-values.ts';
import { limitExamples } from './limit-values.ts';
import { machineExamples } from './machine-values.ts';
import * as moved from './move-in-values.ts';
import { queryExamples } from './query-examples.ts';
import { ruleExamples } from './rule-examples.ts';
import { signalExamples } from './signal-examples.ts';
import { webhookExamples } from './webhook-examples.ts';
import * as work from './worktree-values.ts';

type Examples = { readonly [T in RoutedCommand]: { input: CommandInput<T>; reply: CommandReply<T> } };

const { project, stage, pending, draft, queued, session } = the;
const ofProject = { projectId: project.id };
const onStage = { stageId: stage.id };
const onComment = { ...onStage, commentId: work.comment.id };
const onMessage = { ...onStage, messageId: queued.messageId };

/** An example call of every command, with its reply. */
export const examples: Examples = {
  get_board: { input: {}, reply: the.board(41) },
  get_pending: { input: {}, reply: { pending: [pending], later: [] } },
  take_back_answer: { input: { ...onStage, requestId: pending.requestId }, reply: { request: pending } },
  set_later: {
    input: { requestId: pending.requestId, until: the.me.later[0]?.until },
    reply: { later: the.me.later[0] ?? null },
  },
  update_me: { input: { presentation: 'panel' }, reply: { me: the.me } },
  ...limitExamples,
  ...holdExamples,
  ...machineExamples,
  ...signalExamples,
  ...queryExamples,
  ...webhookExamples,
  get_decisions: { input: { ...onStage, limit: 1 }, reply: { decisions: [the.decision], next: the.decision.at } },

  create_project: { input: { path: project.path, name: 'Web' }, reply: { project, created: true } },
  list_folders: { input: { path: '~/code' }, reply: the.folders },
  get_projects: { input: {}, reply: { projects: [project] } },
  update_project: { input: { ...ofProject, settings: { copyIgnored: ['.env'] } }, reply: { project } },
  agree_git_settings: { input: { ...ofProject, hash: 'b5bb9d80' }, reply: { project } },
  remove_project: { input: ofProject, reply: { project } },
  import_stages: {
    input: { ...ofProject, path: 'docs/stages' },
    reply: { stages: [stage], created: 1, updated: 0, ignored: [] },
  },
  get_conversations: { input: ofProject, reply: moved.conversations },
  adopt_conversation: {
    input: { ...ofProject, conversationId: moved.conversation.conversationId, title: 'Login form' },
    reply: { stage: moved.adopted },
  },
  get_issues: { input: { ...ofProject, q: 'login' }, reply: moved.issues },
  import_issues: {
    input: { ...ofProject, numbers: [12] },
    reply: { stages: [moved.ofIssue], created: 1, updated: 0, kept: [] },
  },
  export_stages: {
    input: { ...ofProject, path: 'docs/stages' },
    reply: {
      folder: `${project.path}/docs/stages`,
      written: [`${project.path}/docs/stages/STAGE-1.md`],
      unchanged: 2,
      kept: [],
    },
  },
  suggest_project_files: { input: { ...ofProject, query: 'login' }, reply: { files: ['src/login.ts'] } },
  get_branches: { input: ofProject, reply: { current: 'main', branches: ['main', 'develop'] } },
  ...ruleExamples,
  get_trust: { input: { ...ofProject, ...onStage }, reply: { trust: the.trust } },
  trust_project: {
    input: { ...ofProject, hash: the.trust.hash },
    reply: { project: { ...project, trust: { ...the.trust, needed: false } } },
  },
  agree_rules: { input: { ...ofProject, rules: ['Bash(npm run lint)'] }, reply: { project } },

  get_logins: { input: {}, reply: { logins: [the.login], current: the.login.loginId } },
  create_metrics_token: { input: {}, reply: { token: 'the-token-for-metrics' } },
  create_login_code: { input: {}, reply: { code: 'one-time-code', expiresAt: the.login.expiresAt, publicUrl: null } },
  remove_login: { input: { loginId: the.login.loginId }, reply: { login: the.login } },

  create_stage: { input: { ...ofProject, title: stage.title, prompt: stage.prompt }, reply: { stage } },
  get_stage: { input: onStage, reply: { stage } },
  get_attachment: { input: { ...onStage, fileId: the.draftFile.fileId }, reply: { file: the.attachment } },
  update_stage: { input: { ...onStage, patch: { priority: 5, held: false } }, reply: { stage } },
  get_removal: { input: onStage, reply: { removal: work.removal } },
  remove_stage: {
    input: { ...onStage, buildFolders: 'delete' },
    reply: { stage: Stage.parse(stage), left: null, kept: work.trashEntry, deleted: work.removal.buildFolders },
  },
  get_worktrees: {
    input: { projectId: project.id },
    reply: { worktrees: [work.worktree], isMeasuring: false },
  },
  get_worktree_clean_up: {
    input: { projectId: project.id, name: work.worktree.name },
    reply: { cleanUp: work.cleanUp },
  },
  clean_worktree: {
    input: { projectId: project.id, name: work.worktree.name, buildFolders: 'delete' },
    reply: { kept: work.trashEntry, deleted: work.removal.buildFolders },
  },
  get_trash: { input: {}, reply: { entries: [work.trashEntry] } },
  restore_trash: {
    input: { trashId: work.trashEntry.id, folder: '/repos/restored' },
    reply: {
      folder: '/repos/restored',
      files: work.trashEntry.files,
      fileCount: work.trashEntry.fileCount,
      branch: 'callboard/restored-STAGE-1',
    },
  },
  get_diff: { input: { ...onStage, path: 'src/login.ts' }, reply: { diff: work.diff } },
  get_diff_content: {
    input: { ...onStage, path: 'logo.png', base: work.diff.base, tree: work.diff.tree },
    reply: { before: null, after: work.image },
  },
  rewind_session: {
    input: { ...onMessage, files: true, conversation: true, dryRun: true },
    reply: { plan: work.rewindPlan, session: SessionSummary.parse(the.session) },
  },
  undo_rewind: { input: onStage, reply: { session: SessionSummary.parse(the.session) } },
  fork_stage: { input: { ...onMessage, title: 'Login form, another way' }, reply: { stage } },
  get_comments: { input: onStage, reply: { comments: [work.comment] } },
  add_comment: {
    input: { ...onStage, path: work.comment.path, side: 'new', line: 1, text: work.comment.text },
    reply: { comment: work.comment },
  },
  edit_comment: { input: { ...onComment, text: work.comment.text }, reply: { comment: work.comment } },
  remove_comment: { input: onComment, reply: { comment: work.comment } },
  send_comments: {
    input: { ...onStage, ids: [work.comment.id] },
    reply: {
      message: { status: 'sent', messageId: queued.messageId },
      comments: [
        {
          ...work.comment,
          state: 'sent',
          sentAt: work.comment.createdAt,
          sentBy: 'ada',
          messageId: queued.messageId,
          isMine: false,
        },
      ],
    },
  },
  get_side_runs: { input: onStage, reply: { runs: [work.sideRun] } },
  start_side_run: {
    input: { ...onStage, kind: 'review' },
    reply: { run: { ...work.sideRun, state: 'waiting', endedAt: null, costUsd: null, summary: null, findings: 0 } },
  },
  stop_side_run: {
    input: { ...onStage, runId: work.sideRun.id },
    reply: { run: { ...work.sideRun, state: 'stopped', reason: 'Stopped by ada.' } },
  },
  get_viewed: { input: onStage, reply: { viewed: { 'src/login.ts': '..5be1a5d6a2d0c7d4' } } },
  set_viewed: {
    input: { ...onStage, path: 'src/login.ts', version: '..5be1a5d6a2d0c7d4' },
    reply: { viewed: { 'src/login.ts': '..5be1a5d6a2d0c7d4' } },
  },
  suggest_files: {
    input: { ...onStage, query: 'login' },
    reply: { files: ['src/login.ts', 'src/pages/login-form.tsx'] },
  },
  start_stage: { input: { ...onStage, withoutSetup: true }, reply: { stage } },
  advance_stage: { input: onStage, reply: { stage } },
  stop_stage: { input: onStage, reply: { stage } },
  get_checks: { input: onStage, reply: { checks: [work.check] } },
  get_phases: { input: onStage, reply: { phases: [work.phase] } },
  run_check: { input: onStage, reply: { stage } },
  stop_check: { input: onStage, reply: { stage } },
  send_check: { input: onStage, reply: { stage } },
  reopen_stage: { input: onStage, reply: { stage } },
  get_completion: { input: onStage, reply: { completion: work.completion } },
  take_out_placeholders: { input: onStage, reply: { files: ['.bashrc', '.claude/hooks'] } },
  complete_stage: { input: { ...onStage, merge: true, head: work.diff.head, tree: work.diff.tree }, reply: { stage } },
  undo_completion: { input: onStage, reply: { stage } },
  remake_worktree: { input: onStage, reply: { stage } },
  take_branch: { input: { ...onStage, head: work.diff.head }, reply: { stage } },
  go_back_to_branch: { input: { ...onStage, head: work.diff.head }, reply: { stage } },
  get_receipt: {
    input: onStage,
    reply: { receipt: work.receipt, markdown: '- 1 allowed by a person\n- ` Bash npm install `: allowed by ada' },
  },
  get_pull_request: { input: onStage, reply: { plan: work.pullRequestPlan } },
  open_pull_request: {
    input: { ...onStage, title: stage.title, body: stage.prompt, draft: true, receipt: true },
    reply: { stage: { ...stage, pullRequest: { ...work.pullRequest, state: 'draft' } } },
  },
  refresh_pull_request: { input: onStage, reply: { stage: { ...stage, pullRequest: work.pullRequest } } },
  get_feedback: { input: onStage, reply: { feedback: work.feedback } },
  send_feedback: {
    input: { ...onStage, checks: ['test'], comments: ['PRRT_kwDO'] },
    reply: { status: 'resumed', messageId: queued.messageId },
  },

  get_editors: { input: {}, reply: { editors: ['code', 'zed'] } },
  open_in_editor: { input: onStage, reply: { command: 'code' } },
  continue_in_terminal: {
    input: { ...onStage, endTurn: true },
    reply: {
      command:
        "cd '/home/ada/.callboard/worktrees/shop/STAGE-1' && claude --resume 24796da1-60bd-44a0-8d5b-3f1c2b9a7e10",
      terminal: { since: '2026-01-01T10:05:00.000Z', by: 'Ada' },
    },
  },
  take_back: { input: onStage, reply: { status: 'resumed' } },
  get_stage_commands: { input: onStage, reply: { commands: [work.command] } },
  run_stage_command: {
    input: { ...onStage, kind: 'setup' },
    reply: { command: { ...work.command, state: 'running', exitCode: null, endedAt: null } },
  },
  get_servers: { input: onStage, reply: { servers: [work.server] } },
  start_server: { input: { ...onStage, name: 'web' }, reply: { server: work.server } },
  stop_server: { input: { ...onStage, name: 'web' }, reply: { server: { ...work.server, run: null } } },
  get_command_output: {
    input: { ...onStage, commandId: work.command.id, after: 0 },
    reply: { output: 'added 212 packages in 3s\n', from: 0, to: 25, total: 25, isCut: false },
  },
  stop_command: {
    input: { ...onStage, commandId: work.command.id },
    reply: { command: { ...work.command, state: 'stopped', exitCode: null, reason: 'Stopped by ada.' } },
  },

  get_capabilities: { input: onStage, reply: { capabilities: the.capabilities, from: 'stage' } },
  get_session: { input: onStage, reply: { session } },
  get_transcript: { input: { ...onStage, after: 0, limit: 100 }, reply: { entries: the.entries, total: 1 } },
  get_live_text: { input: onStage, reply: { blocks: [the.liveBlock] } },
  send_message: {
    input: { ...onStage, message: queued.text, mode: 'append' },
    reply: { status: 'queued', messageId: queued.messageId },
  },
  get_queue: { input: onStage, reply: { queue: [queued], held: false } },
  edit_queued: { input: { ...onMessage, patch: { message: queued.text, place: 0 } }, reply: { message: queued } },
  release_queue: { input: onStage, reply: { session: the.session } },
  get_drafts: { input: onStage, reply: { drafts: [draft] } },
  put_draft: { input: { ...onStage, key: draft.key, value: draft.value, writer: null }, reply: { draft } },
  add_draft_file: {
    input: { ...onStage, fileId: the.draftFile.fileId, file: the.attachment },
    reply: { file: the.draftFile },
  },
  get_draft_file: { input: { ...onStage, fileId: the.draftFile.fileId }, reply: { file: the.attachment } },
  remove_draft_file: { input: { ...onStage, fileId: the.draftFile.fileId }, reply: { file: the.draftFile } },
  send_queued: { input: { ...onMessage, mode: 'now' }, reply: { status: 'sent', messageId: queued.messageId } },
  remove_queued: { input: onMessage, reply: { message: queued } },
  approve_tool: {
    input: { ...onStage, requestId: pending.requestId, decision: 'allow' },
    reply: { decision: the.decision },
  },
  answer_question: {
    input: { ...onStage, requestId: pending.requestId, answers: { 'Which database?': 'SQLite, PostgreSQL' } },
    reply: {
      decision: {
        ...the.decision,
        kind: 'question',
        toolName: 'AskUserQuestion',
        outcome: 'answered',
        answers: { 'Which database?': 'SQLite, PostgreSQL' },
      },
    },
  },
  dismiss_decision: { input: { ...onStage, requestId: pending.requestId }, reply: { decision: the.dismissed } },
  retry_decision: {
    input: { ...onStage, requestId: pending.requestId },
    reply: { decision: the.retried, message: { status: 'resumed', messageId: queued.messageId } },
  },
  interrupt: { input: onStage, reply: { session } },
  acknowledge_denial: { input: onStage, reply: { session } },
  acknowledge_alarm: { input: onStage, reply: { session } },
  get_leftovers: {
    input: onStage,
    reply: { processes: [{ pid: 4711, command: 'node server.js', startedAt: '2026-11-22T09:30:00.000Z' }] },
  },
  end_leftovers: { input: { ...onStage, pids: [4711] }, reply: { processes: [] } },
  get_tasks: { input: onStage, reply: { tasks: [the.task] } },
  stop_task: { input: { ...onStage, taskId: the.task.taskId }, reply: { tasks: [] } },
  mark_task: {
    input: { ...onStage, taskId: the.task.taskId, mark: 'keep-running' },
    reply: { tasks: [{ ...the.task, mark: 'keep-running' }] },
  },
  get_task_output: {
    input: { ...onStage, taskId: the.task.taskId },
    reply: { output: 'ready on port 5173\n', totalBytes: 19, isCut: false },
  },
  get_mcp_servers: { input: onStage, reply: { servers: [the.mcpServer] } },
  reconnect_mcp_server: {
    input: { ...onStage, name: the.mcpServer.name },
    reply: { servers: [{ ...the.mcpServer, state: 'connected', error: null, tools: 7 }] },
  },
  set_mode: { input: { ...onStage, mode: 'acceptEdits' }, reply: { session: { ...session, mode: 'acceptEdits' } } },
  set_model: { input: { ...onStage, effort: 'high' }, reply: { session: { ...session, effort: 'high' } } },
};
