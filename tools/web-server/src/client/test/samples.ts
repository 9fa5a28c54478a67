import {
  type BoardView,
  boardView,
  type Decision,
  PendingRequest,
  SessionSummary,
  Stage,
  type TranscriptEntry,
} from '@callboard/contract';

// What the unit tests are made of: whole values, changed where a test cares.

const AT = '2026-01-01T10:00:00.000Z';

export const at = (minutes: number): string => new Date(Date.parse(AT) + minutes * 60_000).toISOString();

export const stage = (id: string, change: Record<string, unknown> = {}): Stage =>
  Stage.parse({
    id,
    projectId: 'web',
    title: `Title of ${id}`,
    prompt: 'Build it',
    dependsOn: [],
    priority: 2,
    permissionMode: 'default',
    model: null,
    autoStart: false,
    held: false,
    completedAt: null,
    worktree: null,
    createdAt: AT,
    updatedAt: AT,
    ...change,
  });

export const session = (stageId: string, change: Record<string, unknown> = {}): SessionSummary =>
  SessionSummary.parse({
    stageId,
    state: 'busy',
    stateSince: AT,
    mode: 'default',
    model: null,
    sessionId: null,
    launchId: null,
    startedAt: AT,
    lastTurn: null,
    lastAction: null,
    costUsd: 0,
    backgroundTasks: [],
    queued: 0,
    queueHeld: false,
    ...change,
  });

export const request = (stageId: string, requestId: string, change: Record<string, unknown> = {}): PendingRequest =>
  PendingRequest.parse({
    stageId,
    requestId,
    kind: 'approval',
    toolName: 'Bash',
    displayName: 'Bash',
    input: { command: 'npm i' },
    description: null,
    toolUseId: `tool-${requestId}`,
    agent: null,
    reason: null,
    blockedPath: null,
    suggestions: [],
    suppressAlwaysAllow: false,
    createdAt: AT,
    ...change,
  });

export const decision = (of: PendingRequest, change: Partial<Decision> = {}): Decision => ({
  stageId: of.stageId,
  requestId: of.requestId,
  kind: of.kind,
  toolName: of.toolName,
  asked: `${of.toolName} npm i`,
  toolUseId: of.toolUseId,
  outcome: 'allowed',
  by: 'Ada',
  at: AT,
  waitedMs: 252_000,
  reason: null,
  answers: null,
  updatedInput: null,
  delivery: 'confirmed',
  lost: null,
  settlement: null,
  ...change,
});

interface BoardSample {
  seq?: number;
  stages: { stage: Stage; session?: SessionSummary }[];
  pending?: PendingRequest[];
  unsettled?: Decision[];
}

export const board = ({ seq = 1, stages, pending = [], unsettled = [] }: BoardSample): BoardView =>
  boardView({
    seq,
    projects: [],
    warnings: [],
    paused: null,
    stages: stages.map((s) => ({ ...s.stage, session: s.session ?? null })),
    pending,
    unsettled,
  });

type EntryOf<K extends TranscriptEntry['kind']> = Extract<TranscriptEntry, { kind: K }>;

/** A transcript entry of a kind, at a place. */
export const entry = <K extends TranscriptEntry['kind']>(
  index: number,
  kind: K,
  rest: Omit<EntryOf<K>, 'index' | 'kind' | 'stageId' | 'at' | 'parentToolUseId'>,
  parentToolUseId: string | null = null,
): EntryOf<K> =>
  ({ stageId: stage('STAGE-1').id, at: at(index), parentToolUseId, index, kind, ...rest }) as unknown as EntryOf<K>;
