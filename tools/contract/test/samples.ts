import { z } from 'zod';
import { requestEvents } from '../src/generated/request-events.ts';
import {
  CLAUDE_CODE,
  DEFAULT_ALERTS,
  Decision,
  type EventData,
  type EventType,
  Machine,
  type NewEvent,
  PendingRequest,
  PermissionRule,
  Project,
  QueuedMessage,
  RequestKind,
  SessionSummary,
  Stage,
} from '../src/index.ts';

/** Valid values of the contract's schemas, for tests that need only a few fields. */

export const AT = '2026-01-02T03:04:05.000Z';

export const sampleProject = (fields: Record<string, unknown> = {}): Project =>
  Project.parse({ id: 'shop', name: 'Shop', path: '/repos/shop', createdAt: AT, settings: {}, ...fields });

export const sampleStage = (fields: Record<string, unknown> = {}): Stage =>
  Stage.parse({
    id: 'STAGE-1',
    projectId: 'shop',
    title: 'A stage',
    prompt: 'Do it',
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
    ...fields,
  });

export const sampleSession = (fields: Record<string, unknown> = {}): SessionSummary =>
  SessionSummary.parse({
    stageId: 'STAGE-1',
    state: 'busy',
    stateSince: AT,
    mode: 'default',
    model: null,
    sessionId: null,
    launchId: 'launch-1',
    startedAt: AT,
    lastTurn: null,
    lastAction: null,
    costUsd: 0,
    backgroundTasks: [],
    queued: 0,
    queueHeld: false,
    ...fields,
  });

export const sampleMachine = (fields: Record<string, unknown> = {}): Machine =>
  Machine.parse({
    id: '0194269f-8c00-7000-8000-000000000001',
    name: 'workshop',
    state: 'connected',
    since: AT,
    seenAt: AT,
    version: '0.1.0',
    claudeVersion: '2.1.330',
    load: 1.4,
    freeMemoryBytes: 9e9,
    memoryBytes: 16e9,
    sessions: 3,
    slots: 4,
    freeSlots: 2,
    projects: ['shop'],
    ...fields,
  });

export const sampleRequest = (fields: Record<string, unknown> = {}): PendingRequest =>
  PendingRequest.parse({
    stageId: 'STAGE-1',
    requestId: 'request-1',
    kind: 'approval',
    toolName: 'Bash',
    displayName: 'Bash',
    input: { command: 'make' },
    description: null,
    toolUseId: 'toolu_1',
    agent: null,
    reason: null,
    blockedPath: null,
    suggestions: [],
    suppressAlwaysAllow: false,
    createdAt: AT,
    ...fields,
  });

export const sampleDecision = (fields: Record<string, unknown> = {}): Decision =>
  Decision.parse({
    stageId: 'STAGE-1',
    requestId: 'request-1',
    kind: 'approval',
    toolName: 'Bash',
    toolUseId: 'toolu_1',
    outcome: 'allowed',
    by: 'Ada',
    at: AT,
    waitedMs: 5,
    reason: null,
    answers: null,
    updatedInput: null,
    delivery: 'accepted',
    ...fields,
  });

const sampleMessage = QueuedMessage.parse({
  stageId: 'STAGE-1',
  messageId: 'message-1',
  text: 'Go on',
  by: null,
  createdAt: AT,
  position: 1,
});

const sampleRule = PermissionRule.parse({
  ruleId: 'rule-1',
  scope: 'project',
  projectId: 'shop',
  stageId: null,
  kind: 'allow',
  rule: 'Bash(npm run *)',
  by: 'Ada',
  createdAt: AT,
});

const { stageId, requestId } = sampleRequest();
const { messageId } = sampleMessage;

/** The data of one event for each kind of request. */
const requestSamples = z
  .object(requestEvents)
  .parse(Object.fromEntries(RequestKind.options.map((kind) => [`${kind}-requested`, sampleRequest({ kind })])));

/** Sample data of every event type. A new type does not compile without a sample here. */
export const eventSamples: { [T in EventType]: EventData<T> } = {
  'project-updated': { projectId: sampleProject().id, project: sampleProject() },
  'project-removed': { projectId: sampleProject().id },
  'rules-updated': { projectId: sampleProject().id, rules: [sampleRule] },
  'stage-created': { stageId, stage: sampleStage() },
  'stage-updated': { stageId, stage: sampleStage() },
  'stage-removed': { stageId },
  'session-updated': sampleSession(),
  ...requestSamples,
  'approval-cancelled': { stageId, requestId, reason: 'withdrawn' },
  'answer-held': { stageId, requestId, held: { by: 'Ada', outcome: 'allowed', until: AT } },
  'approval-resolved': sampleDecision(),
  'call-denied': sampleDecision({
    outcome: 'denied',
    by: CLAUDE_CODE,
    denial: { source: 'rule', detail: 'Bash(make *)' },
  }),
  'decision-updated': sampleDecision({ delivery: 'confirmed' }),
  'message-queued': sampleMessage,
  'message-sent': { stageId, messageId, text: 'Go on' },
  'queue-updated': { stageId, queue: [sampleMessage], held: false },
  'limits-updated': {
    limits: {
      status: 'near',
      window: 'five_hour',
      resetsAt: AT,
      isUsingOverage: false,
      at: AT,
      windows: [{ name: 'five_hour', utilization: 0.93, status: 'near', resetsAt: AT }],
    },
    settings: { goesOnAtReset: true, holdStartsAt: 0.9 },
  },
  'holds-updated': { holds: [{ scope: {}, by: 'Ada', at: AT, except: [{ stageId }] }] },
  'machine-updated': { machine: sampleMachine() },
  'machine-removed': { machineId: sampleMachine().id },
  'later-updated': { stageId, requestId, person: 'Ada', later: { until: AT } },
  'person-updated': { person: 'Ada', presentation: 'panel', alerts: DEFAULT_ALERTS },
  'worktree-command-updated': {
    id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
    stageId: sampleStage().id,
    kind: 'setup',
    name: 'setup',
    command: 'npm ci',
    attempt: 1,
    state: 'running',
    exitCode: null,
    reason: null,
    isolation: { level: 'sandbox', reason: null },
    by: null,
    startedAt: AT,
    endedAt: null,
    port: null,
  },
  'draft-updated': { stageId, key: 'message', value: 'Half a thou', updatedAt: AT, writer: 'tab-1' },
  'comments-updated': { stageId },
  'side-run-updated': {
    id: 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb',
    stageId: sampleStage().id,
    kind: 'review',
    state: 'running',
    by: 'Ada',
    phaseIndex: null,
    createdAt: AT,
    startedAt: AT,
    endedAt: null,
    reason: null,
    diff: null,
    costUsd: null,
    summary: null,
    findings: 0,
    limitWait: null,
    misplaced: [],
    text: null,
  },
  'viewed-updated': { stageId, person: 'Ada' },
  'mode-changed': { stageId, mode: 'plan' },
  'transcript-appended': { stageId, index: 1 },
  'login-created': { loginId: 'login-1', name: 'Ada', browser: 'Firefox on Linux', createdAt: AT, expiresAt: AT },
  'login-ended': { loginId: 'login-1', by: 'Ada' },
};

/** Returns the sample event of a type, without a number. */
export const sampleEvent = (type: EventType): NewEvent => ({ type, data: eventSamples[type] }) as NewEvent;
