import { z } from 'zod';
import { Decision, PendingRequest } from './approvals.ts';
import { BoardView } from './board.ts';
import { FileContent, StageDiff } from './changes.ts';
import { CheckRun, PhaseRun } from './checks.ts';
import { ReviewComment } from './comments.ts';
import { DevServer, WorktreeCommand } from './dev-servers.ts';
import { TextDelta } from './events.ts';
import { Conversation, ConversationList, IssueList } from './import.ts';
import { Login } from './logins.ts';
import { Completion } from './merge.ts';
import { AttachedFile, Attachment, Draft, QueuedMessage } from './messages.ts';
import { Me } from './people.ts';
import { Capabilities, FolderList, Project } from './projects.ts';
import { Feedback, PullRequest, PullRequestPlan } from './pull-requests.ts';
import { Receipt } from './receipts.ts';
import { SideRun } from './review.ts';
import { RewindPlan } from './rewind.ts';
import { PermissionRule } from './rules.ts';
import { BackgroundTask, McpServer, SessionSummary } from './sessions.ts';
import { StageView } from './stages.ts';
import { TranscriptEntry } from './transcript.ts';
import { ProjectWorktree, Removal, TrashEntry, WorktreeCleanUp } from './trash.ts';
import { ProjectTrust } from './trust.ts';

/** The values that all examples share. */

export const at = '2026-01-02T03:04:05.678Z';

export const project = Project.parse({
  id: 'web',
  name: 'Web',
  path: '/repos/web',
  createdAt: at,
  settings: { copyIgnored: ['.env'] },
});

export const trust = ProjectTrust.parse({
  needed: true,
  hash: '9f2b7c41d0',
  items: [
    {
      kind: 'hook',
      text: 'Runs after a tool was used (Edit).',
      value: 'npm run format',
      file: '.claude/settings.json',
      isNew: true,
    },
  ],
});

export const stage = StageView.parse({
  id: 'STAGE-1',
  projectId: project.id,
  title: 'Login form',
  prompt: 'Write the login form, with tests.',
  dependsOn: [],
  priority: 5,
  permissionMode: 'default',
  model: null,
  autoStart: false,
  held: false,
  completedAt: null,
  worktree: null,
  createdAt: at,
  updatedAt: at,
  column: 'ready',
  session: null,
});

const onStage = { stageId: stage.id };

export const liveBlock = TextDelta.parse({
  stageId: stage.id,
  blockId: 'msg_01:0',
  kind: 'text',
  text: 'I begin with the fi',
  offset: 0,
  parentToolUseId: null,
});

export const pending = PendingRequest.parse({
  ...onStage,
  requestId: 'request-1',
  kind: 'approval',
  toolName: 'Bash',
  displayName: 'Bash',
  input: { command: 'npm test' },
  description: 'Run the tests',
  toolUseId: 'tool-1',
  agent: null,
  reason: null,
  blockedPath: null,
  suggestions: [],
  suppressAlwaysAllow: false,
  stakes: [{ code: 'unknown', text: 'Runs a script. Callboard cannot tell what it does.', command: 'npm test' }],
  createdAt: at,
});

export const decision = Decision.parse({
  ...onStage,
  requestId: pending.requestId,
  kind: 'approval',
  toolName: 'Bash',
  asked: 'Bash npm test',
  toolUseId: 'tool-1',
  outcome: 'allowed',
  by: 'Ann',
  at,
  waitedMs: 1200,
  reason: null,
  answers: null,
  updatedInput: null,
  delivery: 'written',
});

const lost = {
  ended: 'process',
  writtenAt: at,
  endedAt: at,
  endReason: 'The Claude Code process was ended by SIGKILL.',
} as const;

const settled = (how: 'dismissed' | 'retried'): Decision => ({
  ...decision,
  delivery: 'unknown',
  lost,
  settlement: { how, by: 'Ann', at },
});

export const dismissed = settled('dismissed');

export const retried = settled('retried');

export const queued = QueuedMessage.parse({
  ...onStage,
  messageId: 'message-1',
  text: 'Also for phones, please.',
  by: 'Ann',
  createdAt: at,
  position: 1,
});

export const rule = PermissionRule.parse({
  ruleId: 'rule-1',
  scope: 'project',
  projectId: project.id,
  stageId: null,
  kind: 'allow',
  rule: 'Bash(npm test)',
  by: 'Ann',
  createdAt: at,
});

export const session = {
  ...SessionSummary.parse({
    ...onStage,
    state: 'idle',
    stateSince: at,
    mode: 'default',
    model: null,
    sessionId: null,
    launchId: null,
    startedAt: at,
    lastTurn: { outcome: 'succeeded', at, message: null, code: null },
    lastAction: 'Bash npm test',
    costUsd: 0.12,
    backgroundTasks: [],
    queued: 0,
    queueHeld: false,
  }),
  queue: [],
  pending: [],
};

export const entries = z
  .array(TranscriptEntry)
  .parse([
    { ...onStage, index: 1, at, parentToolUseId: null, kind: 'text', text: 'The form is done.', blockId: 'block-1' },
  ]);

export const board = (seq: number): BoardView =>
  BoardView.parse({ seq, projects: [project], stages: [stage], pending: [], unsettled: [], warnings: [] });

export const me = Me.parse({
  name: 'Ada',
  presentation: 'panel',
  later: [{ stageId: pending.stageId, requestId: pending.requestId, until: '2026-01-01T13:00:00.000Z' }],
});

export const draft = Draft.parse({
  stageId: queued.stageId,
  key: 'message',
  value: 'And then add',
  updatedAt: queued.createdAt,
  writer: null,
});

export const task = BackgroundTask.parse({
  taskId: 'bnih1397b',
  type: 'local_bash',
  description: 'Start the dev server',
  toolUseId: 'toolu_01',
  command: 'npm run dev',
  startedAt: at,
});

export const mcpServer = McpServer.parse({
  name: 'database',
  state: 'failed',
  error: 'Connection closed',
  tools: null,
  scope: 'project',
});

export const capabilities = Capabilities.parse({
  commands: [
    { name: 'greet', description: 'Greets someone (project)', argumentHint: '<name>', aliases: [], isBuiltIn: false },
  ],
  models: [
    {
      value: 'sonnet',
      resolved: 'claude-sonnet-5-5',
      label: 'Sonnet',
      description: 'Efficient for routine tasks',
      efforts: ['low', 'medium', 'high'],
    },
  ],
});

export const attachment = Attachment.parse({ name: 'notes.txt', mediaType: 'text/plain', dataBase64: 'SGVsbG8=' });

export const draftFile = AttachedFile.parse({
  fileId: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
  name: 'notes.txt',
  mediaType: 'text/plain',
  size: 5,
});

export const folders = FolderList.parse({
  folder: { name: 'code', path: '/home/ada/code', isRepository: false },
  parent: '/home/ada',
  folders: [{ name: 'shop', path: '/home/ada/code/shop', isRepository: true }],
  here: null,
  isCut: false,
});

export const login = Login.parse({
  loginId: '0198f2d4-7c1e-7000-8000-00000000000a',
  name: 'ann',
  browser: 'Firefox on Linux',
  createdAt: at,
  expiresAt: '2026-04-02T03:04:05.678Z',
});

/** The values of examples about worktrees and their changes. */

export const diff = StageDiff.parse({
  base: '6f1ed002ab5595859014ebf0951522d9d0b6a3c1',
  branch: 'callboard/STAGE-1',
  head: '0c2f6a3d8be1474d0c1f43a1d6d9a2f6a5b0e7c9',
  tree: '9b1de2a4c50f7d3e68a4bb2c17f0d9635e8ac741',
  unread: [],
  files: [
    {
      path: 'src/login.ts',
      oldPath: null,
      status: 'added',
      oldMode: null,
      newMode: '100644',
      additions: 1,
      deletions: 0,
      isBinary: false,
      patch: '@@ -0,0 +1 @@\n+export {};\n',
    },
  ],
});

export const comment = ReviewComment.parse({
  id: '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e62',
  stageId: stage.id,
  author: 'ada',
  path: 'src/login.ts',
  side: 'new',
  line: 1,
  endLine: 1,
  version: '5be1a5d6a2d0c7d4',
  quote: 'export {};',
  text: 'Check the empty case.',
  state: 'draft',
  hasMoved: false,
  createdAt: at,
  sentAt: null,
  sentBy: null,
  messageId: null,
  answeredAt: null,
  isMine: true,
});

export const sideRun = SideRun.parse({
  id: '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e77',
  stageId: stage.id,
  kind: 'review',
  state: 'done',
  by: 'ada',
  phaseIndex: null,
  createdAt: at,
  startedAt: at,
  endedAt: at,
  reason: null,
  costUsd: 0.12,
  diff: { base: diff.base, tree: diff.tree },
  summary: 'The empty case is not handled.',
  findings: 1,
  misplaced: [],
  text: null,
});

export const image = FileContent.parse({ bytes: 8, mediaType: 'image/png', dataBase64: 'iVBORw0KGgo=' });

export const completion = Completion.parse({
  plan: {
    branch: 'callboard/STAGE-1',
    head: '5be1a5d6a2d0c7d4f0a1c7c3a3f6e1b2d4c5e6f7',
    tree: '8f7e6d5c4b3a29181706f5e4d3c2b1a098765432',
    into: 'main',
    commits: 1,
    files: 3,
    uncommitted: [],
    uncommittedCount: 0,
    conflicts: [],
    refusal: null,
  },
  undo: null,
});

export const command = WorktreeCommand.parse({
  id: '5f0c6a0e-2f5d-4b8e-9a51-0c9d7f3e2b41',
  stageId: stage.id,
  kind: 'setup',
  name: 'setup',
  command: 'npm ci',
  attempt: 1,
  state: 'passed',
  exitCode: 0,
  reason: null,
  isolation: { level: 'sandbox', reason: null },
  by: null,
  startedAt: at,
  endedAt: at,
  port: null,
});

export const server = DevServer.parse({
  name: 'web',
  command: 'npm run dev',
  run: {
    ...command,
    kind: 'server',
    name: 'web',
    command: 'npm run dev',
    by: 'ada',
    state: 'running',
    exitCode: null,
    endedAt: null,
    port: 21_340,
  },
});

export const check = CheckRun.parse({
  id: '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e62',
  stageId: stage.id,
  phaseIndex: 1,
  phase: 'Build',
  command: 'npm test',
  timeLimit: 600,
  state: 'failed',
  failures: 1,
  attempts: 3,
  by: null,
  createdAt: at,
  startedAt: at,
  endedAt: at,
  exitCode: 1,
  reason: null,
  commandId: '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e63',
  messageId: '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e64',
});

export const phase = PhaseRun.parse({
  stageId: stage.id,
  phaseIndex: 0,
  phase: 'Design',
  prompt: 'Write the login form, with tests.\n\nDesign it first.',
  begunAt: at,
  result: 'The form has two fields.',
  endedAt: at,
});

export const removal = Removal.parse({
  worktree: '/data/worktrees/web/STAGE-1',
  left: null,
  files: [{ path: 'notes/plan.md', bytes: 812 }],
  fileCount: 1,
  bytes: 812,
  buildFolders: [{ path: 'node_modules', bytes: 212_345_678 }],
  branch: { name: 'callboard/STAGE-1', isKept: true },
});

export const trashEntry = TrashEntry.parse({
  id: '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e61',
  projectId: project.id,
  projectName: 'Web',
  stageId: stage.id,
  stageTitle: stage.title,
  by: 'ada',
  at,
  expiresAt: '2026-12-20T09:00:00.000Z',
  files: removal.files,
  fileCount: 1,
  bytes: 812,
  work: {
    ref: 'refs/callboard/trash/STAGE-1/2026-11-20T09-00-00-000Z',
    commit: diff.head,
    branch: diff.branch,
    uncommitted: 2,
    unmerged: 1,
  },
  worktree: null,
});

export const worktree = ProjectWorktree.parse({
  name: 'STAGE-1',
  path: removal.worktree,
  stageId: stage.id,
  stageTitle: stage.title,
  stays: null,
  bytes: 318_767_104,
  measuredAt: at,
});

export const cleanUp = WorktreeCleanUp.parse({
  path: removal.worktree,
  left: null,
  work: { branch: diff.branch, uncommitted: 2, unmerged: 1 },
  files: removal.files,
  fileCount: 1,
  bytes: 812,
  buildFolders: removal.buildFolders,
});

export const pullRequestPlan = PullRequestPlan.parse({
  branch: 'callboard/STAGE-1',
  head: diff.head,
  tree: diff.tree,
  base: 'main',
  remote: 'origin',
  repository: 'github.com/acme/web',
  host: 'github',
  commits: 2,
  unpushed: 2,
  files: 3,
  uncommitted: [],
  uncommittedCount: 0,
  problem: null,
  title: stage.title,
  body: 'Write the login form, with tests.\n\nCommits:\n\n- Add the form\n- Test the form',
});

export const pullRequest = PullRequest.parse({
  host: 'github',
  number: 12,
  url: 'https://github.com/acme/web/pull/12',
  title: stage.title,
  state: 'open',
  base: 'main',
  branch: 'callboard/STAGE-1',
  head: diff.head,
  checks: 'failing',
  failing: ['test'],
  unresolved: 2,
  conflicts: false,
  mergeCommit: null,
  checkedAt: at,
  stale: null,
});

export const feedback = Feedback.parse({
  checks: [{ name: 'test', url: 'https://github.com/acme/web/actions/runs/1/job/7' }],
  comments: [
    {
      id: 'PRRT_kwDO',
      path: 'src/login.ts',
      line: 12,
      author: 'grace',
      text: 'Check the empty case.',
      url: 'https://github.com/acme/web/pull/12#discussion_r1',
    },
  ],
});

export const receipt = Receipt.parse({
  stageId: stage.id,
  title: stage.title,
  turns: [
    {
      number: 1,
      at,
      message: 'Write the login form, with tests.',
      by: 'ada',
      calls: [
        {
          toolUseId: 'toolu_01',
          asked: 'Bash npm install',
          reason: 'person',
          by: 'ada',
          detail: null,
          isAgents: false,
        },
      ],
    },
  ],
  total: 1,
  totals: { person: 1 },
  others: [],
  gaps: [],
});

export const rewindPlan = RewindPlan.parse({
  files: {
    at,
    changes: [{ path: 'src/login.ts', oldPath: null, status: 'modified', additions: 2, deletions: 14 }],
    counts: { files: 1, additions: 2, deletions: 14 },
    blocked: [],
    notKept: [{ path: 'node_modules', reason: 'ignored', bytes: null }],
    commits: 0,
  },
  filesProblem: null,
  conversation: { messages: 2, isNew: false },
  conversationProblem: null,
  text: 'Also for phones, please.',
});

/** The values of examples about work that was begun elsewhere. */

export const conversation = Conversation.parse({
  conversationId: '24796da1-60bd-44a0-8d5b-5f9cc495f972',
  name: null,
  firstWords: 'Mend the login form',
  folder: project.path,
  branch: 'main',
  startedAt: at,
  updatedAt: at,
  messages: 4,
  bytes: 165483,
  isOpen: false,
});

export const conversations = ConversationList.parse({
  conversations: [conversation],
  older: 0,
  folders: [{ folder: project.path, branch: 'main', uncommitted: 2 }],
  source: '/home/ada/.claude/projects',
});

export const adopted = StageView.parse({
  ...stage,
  title: 'Login form',
  prompt: conversation.firstWords,
  worktree: null,
  adopted: {
    conversationId: conversation.conversationId,
    folder: conversation.folder,
    branch: conversation.branch,
    at,
    lastEntry: 12,
  },
});

const url = 'https://github.com/acme/shop/issues/12';

export const issues = IssueList.parse({
  issues: [{ number: 12, title: 'Login form', url, labels: ['bug'], author: 'grace', updatedAt: at, stageId: null }],
  repository: 'github.com/acme/shop',
  host: 'github',
  problem: null,
});

export const ofIssue = StageView.parse({
  ...stage,
  title: 'Login form',
  prompt: `Resolve issue #12: Login form\n\n${url}`,
  issue: { host: 'github', number: 12, url, taken: '9b1de2a4c50f7d3e' },
});
