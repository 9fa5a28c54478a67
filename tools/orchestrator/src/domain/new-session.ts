import { ISOLATION_UNKNOWN, type Stage } from '@callboard/contract';
import type { SessionRecord } from '../store/records.ts';
import { firstMode } from './pipeline.ts';

/** A forked stage goes on from the conversation of another one. */
const forkOf = ({ fork }: Stage): SessionRecord['forkOf'] =>
  fork === null || fork.conversationId === null ? null : { fork: fork.conversationId, until: fork.until };

/** Returns the session of a stage that was never started. */
export function newSession(stage: Stage, now: string): SessionRecord {
  return {
    stageId: stage.id,
    state: 'ended',
    stateSince: now,
    mode: firstMode(stage),
    model: stage.model,
    sessionId: null,
    forkOf: forkOf(stage),
    launchId: null,
    startedAt: now,
    lastTurn: null,
    now: null,
    lastAction: null,
    costUsd: 0,
    tokens: null,
    contextUsage: null,
    turnUsage: null,
    effort: stage.effort,
    todos: [],
    changes: null,
    changesCountedFor: null,
    phaseIndex: 0,
    atGate: false,
    check: null,
    review: null,
    stalledSince: null,
    denials: 0,
    openDenial: null,
    alarm: null,
    terminal: null,
    ...{ limitWait: null, refusedBy: null, limitTries: 0 },
    seenAlarms: [],
    cliVersion: null,
    cliGaps: [],
    backgroundTasks: [],
    mcpServers: [],
    leftOut: null,
    isolation: ISOLATION_UNKNOWN,
    sandboxAllowed: 0,
    queued: 0,
    queueHeld: false,
    heldSinceAlarm: false,
    leftovers: 0,
    transcriptLength: 0,
    turnRunning: false,
    turnMessages: [],
    lastTurnMessages: [],
    joinedMessages: [],
    promptBlocked: null,
    turnBegun: false,
    turnToFollow: false,
    costCounted: 0,
    launchState: 'ended',
    ...{ blocks: {}, agents: {}, calls: {}, running: [], strangers: [] },
    lastCall: null,
    taskStarts: {},
    ...{ goneBack: [], isGoingBack: false, goingBack: null, undo: null },
  };
}
