import {
  Attachment,
  BackgroundTask,
  BoardView,
  Capabilities,
  commands,
  Decision,
  Draft,
  DraftFile,
  FolderList,
  Login,
  McpServer,
  Me,
  PendingRequest,
  PermissionRule,
  Project,
  ProjectTrust,
  QueuedMessage,
  StageView,
  TextDelta,
  TranscriptEntry,
} from '@callboard/contract';
import { z } from 'zod';

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
  stakes: [{ code: 'unknown', text: 'Runs code: effects unknown.', command: 'npm test' }],
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

export const { session } = commands.get_session.reply.parse({
  session: {
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
    queue: [],
    pending: [],
  },
});

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
export const draftFile = DraftFile.parse({
  fileId: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
  name: 'notes.txt',
  mediaType: 'text/plain',
  size: 5,
});

export const folders = FolderList.parse({
  folder: { name: 'code', path: '/home/ada/code', isRepository: false },
  parent: '/home/ada',
  folders: [{ name: 'shop', path: '/home/ada/code/shop', isRepository: true }],
  isCut: false,
});

export const login = Login.parse({
  loginId: '0198f2d4-7c1e-7000-8000-00000000000a',
  name: 'ann',
  browser: 'Firefox on Linux',
  createdAt: at,
  expiresAt: '2026-04-02T03:04:05.678Z',
});
