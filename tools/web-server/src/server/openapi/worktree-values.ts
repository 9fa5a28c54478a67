import {
  CheckRun,
  Completion,
  DevServer,
  Feedback,
  FileContent,
  PhaseRun,
  ProjectWorktree,
  PullRequest,
  PullRequestPlan,
  Receipt,
  Removal,
  ReviewComment,
  RewindPlan,
  SideRun,
  StageDiff,
  TrashEntry,
  WorktreeCleanUp,
  WorktreeCommand,
} from '@callboard/contract';
import { at, project, stage } from './example-values.ts';

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
