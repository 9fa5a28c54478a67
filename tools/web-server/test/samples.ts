/** Small, whole values of the contract. */
import {
  type BoardEvent,
  type BoardView,
  BoardView as BoardViewSchema,
  commands,
  Decision,
  PendingRequest,
  Project,
  QueuedMessage,
  StageView,
} from '@callboard/contract';

const at = '2026-01-02T03:04:05.678Z';

export const project = Project.parse({ id: 'web', name: 'Web', path: '/repos/web', createdAt: at });

export const stage = StageView.parse({
  id: 'STAGE-1',
  projectId: 'web',
  title: 'Login form',
  prompt: 'Write it',
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

export const queued = QueuedMessage.parse({
  stageId: 'STAGE-1',
  messageId: 'message-1',
  text: 'and then?',
  by: 'Ann',
  createdAt: at,
  position: 1,
});

export const pending = PendingRequest.parse({
  stageId: 'STAGE-1',
  requestId: 'request-1',
  kind: 'approval',
  toolName: 'Bash',
  displayName: 'Bash',
  input: { command: 'npm test' },
  description: null,
  toolUseId: 'tool-1',
  agent: null,
  reason: null,
  blockedPath: null,
  suggestions: [],
  suppressAlwaysAllow: false,
  createdAt: at,
});

export const decision = Decision.parse({
  stageId: 'STAGE-1',
  requestId: 'request-1',
  kind: 'approval',
  toolName: 'Bash',
  toolUseId: 'tool-1',
  outcome: 'allowed',
  by: 'Ann',
  at,
  waitedMs: 12,
  reason: null,
  answers: null,
  updatedInput: null,
  delivery: 'written',
});

export const { session } = commands.get_session.reply.parse({
  session: {
    stageId: 'STAGE-1',
    state: 'idle',
    stateSince: at,
    mode: 'default',
    model: null,
    sessionId: null,
    launchId: null,
    startedAt: at,
    lastTurn: null,
    lastAction: null,
    costUsd: 0,
    backgroundTasks: [],
    queued: 0,
    queueHeld: false,
    queue: [],
    pending: [],
  },
});

export const board = (seq: number): BoardView =>
  BoardViewSchema.parse({ seq, projects: [project], stages: [stage], pending: [] });

/** A stored event of about `bytes` bytes. */
export const modeChanged = (seq: number, bytes = 0): BoardEvent => ({
  type: 'mode-changed',
  seq,
  at,
  data: { stageId: stage.id, mode: `mode-${seq}`.padEnd(bytes, '.') },
});
