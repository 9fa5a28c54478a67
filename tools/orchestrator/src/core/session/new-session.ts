import { type Attachment, ISOLATION_UNKNOWN, type Stage } from '@callboard/contract';
import { type MessageRow, messageBody, type SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import { firstMode, firstPrompt } from './pipeline.ts';

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
    limitWait: null,
    refusedBy: null,
    limitTries: 0,
    withheld: false,
    holdInterrupt: null,
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
    tokensCounted: 0,
    beyondBudget: false,
    spentBudget: null,
    launchState: 'ended',
    blocks: {},
    agents: {},
    calls: {},
    running: [],
    strangers: [],
    hookInputs: [],
    hookInputsShown: [],
    hostGrants: {},
    openHosts: null,
    lastCall: null,
    deferred: null,
    ownMessage: null,
    wakeUps: [],
    wakeUpMessages: [],
    taskStarts: {},
    taskNews: [],
    wokenBy: null,
    reports: [],
    keptCommands: [],
    modeBeforePlan: null,
    goneBack: [],
    isGoingBack: false,
    goingBack: null,
    undo: null,
    conversationRecord: null,
  };
}

/**
 * Returns the first message of a stage: its prompt with its files. It attaches no files that `@path` names; it runs as a
 * command only if a person chose that here (docs/decisions/trust.md).
 */
export async function firstMessage(tx: Tx, stage: Stage): Promise<MessageRow['body']> {
  const found: (Attachment | null)[] = [];
  for (const { fileId } of stage.attachments) found.push(await tx.attachments.find(stage.id, fileId));
  return messageBody({
    text: firstPrompt(stage),
    attachments: found.filter((file) => file !== null),
    isCommand: stage.promptIsCommand && stage.source === null,
    attachesFiles: false,
  });
}
