import { MessageId } from '@callboard/contract';
import {
  MAX_RESULT_LENGTH,
  MAX_STRING_LENGTH,
  ownProperty,
  truncate,
  truncateRaw,
  truncateStrings,
} from '../../lib/text.ts';
import type { OutboxRow, SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import {
  type AgentEvent,
  describeTool,
  type LastingEvent,
  type TurnEnd,
  todosAfterCall,
  todosAfterUpdate,
} from '../agent-event.ts';
import { takeTaskEnd, takeTaskReport, takeTaskStart, takeTasks, takeWakeUpPlan, wokeUp } from './background-tasks.ts';
import { agentsWork } from './change-session.ts';
import {
  acceptUnattributed,
  asked,
  checkCommandOutput,
  checkEcho,
  checkUnattributed,
  closeStaleNetwork,
  foreignControl,
  foreignHook,
  initialized,
  peerMessage,
  refuse,
  response,
  takeMode,
  withdrawn,
} from './incoming-requests.ts';
import { answerComments, followMessage, hasUnreadMessages } from './message-delivery.ts';
import { firstMessage } from './new-session.ts';
import { noteFirstPhase, stopCheck } from './pipeline.ts';
import { alarmOf, loseUnconfirmed, raiseAlarm, settleByResult } from './requests.ts';
import {
  addCliGap,
  addEntry,
  addNotice,
  type EventContext,
  MINIMAL_MODE,
  type SessionChange,
} from './session-change.ts';
import { recordRuleUse, sandboxResult } from './session-permissions.ts';
import { costOfTurn, countedTokens, limitWaitAfter, spend, takeLimits, tokensOfTurn } from './spending-limits.ts';
import {
  callBegan,
  callDeferred,
  callDenied,
  callEnded,
  deferredAgain,
  deniedInTurn,
  dropDeferred,
  forgetCall,
  hookChangedInput,
  retainCall,
} from './tool-calls.ts';

/** What is shown of a call that an interrupt ended. The CLI tells Claude that the user refused it, which nobody did. */
const STOPPED = {
  before: 'Stopped before it ran. Nothing was done.',
  running: 'Stopped while it ran. What it had done by then stands.',
} as const;

const isDenied = async ({ tx, change }: EventContext, toolUseId: string): Promise<boolean> =>
  (await tx.requests.outcomesOf(change.record.stageId, toolUseId)).some(
    (outcome) => outcome === 'denied' || outcome === 'timed-out',
  );

/** Adds the result of a call to the transcript, with all that follows from it. */
async function toolResult(context: EventContext, event: Extract<AgentEvent, { type: 'tool-result' }>): Promise<void> {
  const { tx, change } = context;
  const { type: kind, text, underRule: _rule, leftSandbox: _left, unruled: _unruled, wasReported, ...reported } = event;
  const { stopped, ...result } = reported;
  const sandboxFailure = context.sandbox.isOn ? event.sandboxFailure : null;
  const shown = { kind, ...result, sandboxFailure, text: truncate(text, MAX_RESULT_LENGTH) };
  const isStopped = stopped !== undefined && !(await isDenied(context, event.toolUseId));
  addEntry(change, tx.now, isStopped ? { ...shown, stopped, text: STOPPED[stopped] } : shown);
  callEnded(change, event.toolUseId);
  deferredAgain(change, event.toolUseId);
  await sandboxResult(context, event);
  await recordRuleUse(context, event);
  if (event.allowedBy === 'hook' && !context.mayHooksAllow) await foreignHook(context);
  await closeStaleNetwork(context, false);
  await takeWakeUpPlan(context, event);
  if (wasReported === true || !event.isError) forgetCall(change, event.toolUseId);
  await settleByResult(tx, change.record.stageId, context.launchId, event);
}

type Events = { [E in LastingEvent as E['type']]: E };
type EventType = keyof Events;
/** Names the type again, so that the compiler pairs each event with its handler. */
type EventOf<T extends EventType> = { [P in T]: { type: P } & Events[P] }[T];
type Handlers = { [T in EventType]: (context: EventContext, event: EventOf<T>) => void | Promise<void> };

/** What each event of an agent changes. */
const HANDLERS: Handlers = {
  conversation: ({ change }, { sessionId }) => setFields(change, { sessionId }),
  'conversation-lost': conversationLost,
  'prompt-blocked': ({ change }, { reason }) => setFields(change, { promptBlocked: reason }),
  'turn-started': turnStarted,
  'mode-changed': (context, { mode }) => takeMode(context, mode),
  'message-echoed': (context, { messageId, text }) => checkEcho(context, messageId, text),
  'peer-message': peerMessage,
  'command-output': checkCommandOutput,
  'forged-line': (context) => raiseAlarm(context, alarmOf('forged-output')),
  'reply-to-nobody': foreignControl,
  'message-progress': (context, { messageId, progress, wakeUp }) =>
    messageProgress(context, messageId, progress, wakeUp),
  block: contentBlock,
  'tool-result': toolResult,
  'call-denied': callDenied,
  'hook-changed-input': hookChangedInput,
  todos: ({ change }, { updates }) => setFields(change, { todos: [...todosAfterUpdate(change.record.todos, updates)] }),
  asked,
  'asked-unknown': refuse,
  withdrawn: (context, { requestId }) => withdrawn(context, requestId),
  response,
  initialized,
  'usage-limits': takeLimits,
  'cost-count': costCount,
  used,
  offered: ({ tx, change }, { capabilities }) => tx.capabilities.save(change.record.stageId, tx.now, capabilities),
  'turn-ended': (context, { end }) => turnEnded(context, end),
  'task-started': takeTaskStart,
  'task-news': ({ change }, { text }) =>
    setFields(change, { taskNews: [...change.record.taskNews, text].slice(-MAX_UPDATES) }),
  'task-news-read': ({ change }) => setFields(change, { taskNews: [] }),
  'task-ended': takeTaskEnd,
  'task-reported': ({ change }, { runId }) => takeTaskReport(change, runId),
  tasks: tasksListed,
  notice,
};

/** How many ended tasks one turn names. */
const MAX_UPDATES = 10;

/** Applies one event of an agent to its session. */
export async function applyEvent<T extends EventType>(context: EventContext, event: EventOf<T>): Promise<void> {
  await HANDLERS[event.type](context, event);
}

function setFields(change: SessionChange, fields: Partial<SessionRecord>): void {
  change.record = { ...change.record, ...fields };
}

async function turnStarted(context: EventContext, event: EventOf<'turn-started'>): Promise<void> {
  const { tx, change } = context;
  const { record } = change;
  if (event.mode !== null) await takeMode(context, event.mode);
  change.record = {
    ...change.record,
    turnRunning: true,
    turnBegun: true,
    joinedMessages: event.messageIds.length > 1 ? [...event.messageIds] : [],
    wokenBy: event.messageIds.length === 0 && record.taskNews.length > 0 ? record.taskNews.join(' · ') : null,
    taskNews: [],
    model: event.model ?? record.model,
    cliVersion: event.version ?? record.cliVersion,
    mcpServers: event.mcpServers ?? record.mcpServers,
  };
  sayWhatFailed(change, tx.now, record.mcpServers, event);
  if (event.isMinimal) addCliGap(change, tx.now, MINIMAL_MODE);
  await markRead(context, event.messageIds);
}

/** Says which MCP servers failed at their start, above the first turn that has to do without them. */
function sayWhatFailed(
  change: SessionChange,
  at: string,
  before: SessionRecord['mcpServers'],
  { mcpServers = [], mcpText = {} }: EventOf<'turn-started'>,
): void {
  const known = new Set(before.flatMap(({ name, state }) => (state === 'failed' ? [name] : [])));
  for (const { name, state } of mcpServers) {
    if (state !== 'failed' || known.has(name)) continue;
    const message = ownProperty(mcpText, name);
    const own = message === undefined ? 'Claude works without its tools. ' : `It said: ${message}\n`;
    const text = `The MCP server "${name}" did not start. ${own}Mend it, then reconnect it under MCP servers.`;
    addNotice(change, at, { level: 'warning', code: 'mcp-failed', text });
  }
}

async function turnEnded(context: EventContext, end: TurnEnd): Promise<void> {
  const { tx, change, launchId } = context;
  if (end.isEmpty === true) {
    const turnRunning = await hasUnreadMessages(tx, launchId);
    return setFields(change, { turnRunning, turnBegun: false, wokenBy: null });
  }
  await markRead(context, end.messageIds ?? []);
  if (end.deferred !== undefined) deferredAgain(change, end.deferred.toolUseId);
  await checkUnattributed(context);
  await deniedInTurn(context, end.denied ?? []);
  if (end.deferred !== undefined) await callDeferred(context, end.deferred);
  const costUsd = costOfTurn(change.record, end);
  await spend(tx, change, { usd: costUsd ?? 0, tokens: tokensOfTurn(change.record, end) });
  const { record } = change;
  const losing = agentsWork(record) ? null : loseUnconfirmed(tx, launchId); // a subagent's requests may stay open
  const [isUnread] = await Promise.all([hasUnreadMessages(tx, launchId), losing]);
  const waiting = await limitWaitAfter(context, end);
  const { durationMs, tokens } = end;
  const blocked = end.outcome === 'succeeded' ? record.promptBlocked : null;
  const { outcome, message } =
    blocked === null
      ? end
      : ({ outcome: 'failed', message: `A hook kept the message from Claude: ${blocked}` } as const);
  // A person put the stage on hold: nobody is needed, and it goes on when it is released.
  const isForPause = outcome === 'interrupted' && record.holdInterrupt === 'asked';
  change.record = {
    ...record,
    turnRunning: isUnread,
    turnBegun: false,
    turnMessages: [],
    // Of a turn that a limit refused as well: it is to go on, so Claude must know what it was about.
    lastTurnMessages: outcome === 'succeeded' || end.code === 'usage-limit' ? record.turnMessages : [],
    promptBlocked: null,
    wokenBy: null,
    lastTurn: { outcome, message, at: tx.now, code: (outcome === 'failed' ? end.code : undefined) ?? null },
    openDenial: outcome === 'succeeded' ? (record.lastCall?.denial ?? null) : null,
    calls: agentsWork(record) ? record.calls : {},
    // An interrupt may take back what the CLI had still to tell Claude.
    reports: outcome === 'succeeded' ? record.reports : [],
    running: agentsWork(record) ? record.running.filter(({ parentToolUseId }) => parentToolUseId !== null) : [],
    costCounted: end.costUsd ?? record.costCounted,
    tokensCounted: tokens === null ? record.tokensCounted : countedTokens(tokens),
    turnUsage: null,
    beyondBudget: false,
    spentBudget: outcome === 'interrupted' ? record.spentBudget : null,
    tokens: tokens ?? record.tokens,
    queueHeld: outcome !== 'succeeded' && !isForPause,
    holdInterrupt: isForPause ? 'interrupted' : null,
    heldSinceAlarm: false,
    turnToFollow: outcome === 'succeeded',
    blocks: {},
    ...waiting,
  };
  addEntry(change, tx.now, { kind: 'turn-end', parentToolUseId: null, outcome, message, durationMs, costUsd });
  if (isUnread) dropDeferred(change, tx.now);
  await closeStaleNetwork(context, true);
  if (outcome === 'succeeded') await answerComments(tx, record.stageId);
}

function costCount({ change }: EventContext, { costUsd, tokens }: EventOf<'cost-count'>): void {
  const tokensCounted = tokens === null ? change.record.tokensCounted : countedTokens(tokens);
  setFields(change, { costCounted: costUsd, tokensCounted });
}

export const NOTHING_USED = { costUsd: 0, tokens: { input: 0, output: 0, cacheRead: 0, cacheCreation: 0 } };

/** A model call has ended. Its cost becomes known later. */
function used({ change }: EventContext, { tokens }: EventOf<'used'>): void {
  const { costUsd, tokens: before } = change.record.turnUsage ?? NOTHING_USED;
  const sum = {
    input: before.input + tokens.input,
    output: before.output + tokens.output,
    cacheRead: before.cacheRead + tokens.cacheRead,
    cacheCreation: before.cacheCreation + tokens.cacheCreation,
  };
  setFields(change, { turnUsage: { costUsd, tokens: sum } });
}

function notice({ tx, change }: EventContext, { entry }: EventOf<'notice'>): void {
  addEntry(change, tx.now, savedNotice(entry));
  // The CLI counts from 0 again.
  if (entry.kind === 'notice' && entry.code === 'conversation-cleared')
    setFields(change, { costCounted: 0, tokensCounted: 0 });
}

type NoticeEntry = Extract<AgentEvent, { type: 'notice' }>['entry'];

const savedNotice = (entry: NoticeEntry): NoticeEntry =>
  entry.kind === 'unknown' ? { ...entry, raw: truncateRaw(entry.raw) } : entry;

/** How many model messages are remembered for naming their blocks. Parallel subagents print several at once. */
const REMEMBERED_MESSAGES = 32;

function contentBlock({ tx, change, worktree }: EventContext, event: EventOf<'block'>): void {
  const { apiMessageId, parentToolUseId } = event;
  const index = ownProperty(change.record.blocks, apiMessageId) ?? 0;
  const others = Object.entries(change.record.blocks).filter(([id]) => id !== apiMessageId);
  const blocks = Object.fromEntries([...others, [apiMessageId, index + 1] as const].slice(-REMEMBERED_MESSAGES));
  change.record = { ...change.record, blocks };
  const { block: content } = event;
  if (content.kind === 'other') return;
  if (parentToolUseId === null) sayWhatWoke(change, tx.now);
  if (content.kind === 'tool-use') {
    const lastAction = describeTool(content.toolName, content.input, worktree);
    // A subagent's list is not the session's.
    const before = change.record.todos;
    const todos = parentToolUseId === null ? todosAfterCall(before, content.toolName, content.input) : before;
    change.record = { ...change.record, lastAction, todos: [...todos] };
    retainCall(change, content.toolUseId, { toolName: content.toolName, asked: lastAction });
    callBegan(change, tx.now, { ...content, parentToolUseId, description: lastAction });
    const input = truncateStrings(content.input, MAX_STRING_LENGTH);
    addEntry(change, tx.now, { ...content, input, parentToolUseId });
    return;
  }
  const text = truncate(content.text, MAX_STRING_LENGTH);
  addEntry(change, tx.now, { ...content, text, parentToolUseId, blockId: blockId(apiMessageId, index) });
}

/** Says why a turn that nobody asked for has begun, above what Claude does in it. */
function sayWhatWoke(change: SessionChange, at: string): void {
  const { wokenBy } = change.record;
  if (wokenBy === null) return;
  setFields(change, { wokenBy: null });
  addNotice(change, at, { level: 'info', code: 'woken', text: `Claude Code went on by itself: ${wokenBy}.` });
}

/** The id of a content block, the same in the stream and in the transcript. */
export const blockId = (apiMessageId: string, index: number): string => `${apiMessageId}:${index}`;

async function tasksListed(context: EventContext, { tasks }: EventOf<'tasks'>): Promise<void> {
  const { tx, change } = context;
  const { turnRunning } = change.record;
  change.record = takeTasks(change.record, tasks, tx.now);
  await closeStaleNetwork(context, !turnRunning);
}

async function messageProgress(
  context: EventContext,
  messageId: string,
  progress: 'consumed' | 'finished' | 'cancelled',
  wakeUp?: string,
): Promise<void> {
  const { tx, change, launchId } = context;
  if (change.record.wakeUpMessages.includes(messageId)) return;
  const row = await tx.outbox.findByWireId(launchId, messageId);
  if (row === null && wakeUp !== undefined && wokeUp(context, messageId, wakeUp)) return;
  if (row === null) return acceptUnattributed(context, messageId, progress);
  if (row.body.kind !== 'message' || row.state === 'confirmed' || row.state === 'void') return;
  if (progress === 'cancelled') return returnToQueue(context, row);
  await tx.outbox.setConfirmed(row.id, tx.now);
  if (progress === 'consumed') {
    change.record = { ...change.record, turnBegun: true, turnMessages: [...change.record.turnMessages, row.id] };
  }
  // It finished and never began: the CLI read it in an earlier launch, and no result follows.
  if (progress === 'finished') change.record = { ...change.record, turnRunning: await hasUnreadMessages(tx, launchId) };
}

/** An interrupt took a message back before the model read it. It is queued again under a new id: the CLI drops ids that it has seen. */
async function returnToQueue({ tx, change, launchId }: EventContext, row: OutboxRow): Promise<void> {
  await tx.outbox.setVoid(row.id, 'withdrawn by an interrupt');
  const again = {
    id: tx.newId(),
    wireId: MessageId.parse(tx.newWireId()),
    stageId: row.stageId,
    launchId: null,
    body: row.body,
  };
  await tx.outbox.insert({ ...again, actor: row.actor, createdAt: row.createdAt, position: row.position });
  await followMessage(tx, row.stageId, MessageId.parse(row.wireId), again.wireId);
  change.queueChanged = true;
  // If the turn had not begun, it is over: no `result` follows (seen with 2.1.330).
  const turnRunning = change.record.turnBegun || (await hasUnreadMessages(tx, launchId));
  // Interrupted for a hold, the message goes when the stage is released.
  const isForPause = change.record.holdInterrupt === 'asked';
  const holdInterrupt = turnRunning ? change.record.holdInterrupt : null;
  change.record = { ...change.record, turnRunning, queueHeld: !isForPause, holdInterrupt };
}

/** Marks messages as read: the start and the end of a turn name its messages, in case the line about one of them is missing. */
async function markRead(context: EventContext, messageIds: readonly string[]): Promise<void> {
  for (const id of messageIds) await messageProgress(context, id, 'consumed');
}

/** Makes the next start begin a new conversation, with the stage's prompt ahead of the queue. */
async function conversationLost({ tx, change, launchId }: EventContext): Promise<void> {
  const { stageId } = change.record;
  const stage = await tx.stages.find(stageId);
  if (stage === null) return;
  if (change.record.forkOf !== null) return forkLost(tx, change);
  const prompt = await firstMessage(tx, stage);
  const given = await tx.outbox.listOf(launchId, ['accepted', 'written']); // they return to the queue when the launch ends
  const isGiven = given.some(({ body }) => body.kind === 'message' && body.text === prompt.text);
  const front = ((await tx.outbox.queueOf(stageId))[0]?.position ?? 1) - 1;
  const row = { id: tx.newId(), stageId, launchId: null, wireId: tx.newWireId(), actor: null, createdAt: tx.now };
  if (!isGiven) await tx.outbox.insert({ ...row, body: prompt, position: front });
  await stopCheck(tx, change, 'The conversation was lost.');
  await noteFirstPhase(tx, stage);
  const { sessionId, conversationRecord } = change.record;
  const wasThere = conversationRecord !== null && conversationRecord.sessionId === sessionId;
  change.record = { ...change.record, sessionId: null, phaseIndex: 0, atGate: false, check: null, review: null };
  change.queueChanged = true;
  const why = wasThere
    ? 'Claude Code no longer has its record of this conversation: somebody removed it, or Claude Code did, which deletes old ones after a while. What was said stays readable here, but Claude cannot know of it.'
    : 'Claude Code has no record of this conversation, because it ended before anything was written.';
  const text = `${why} The conversation cannot be resumed. Start the stage to begin a new one with its prompt; the work in its worktree is untouched.`;
  addNotice(change, tx.now, { level: 'error', code: 'conversation-lost', text });
}

/** The copy of a conversation, or the one to copy, is gone. The person's messages stay in the queue; the stage's prompt is part of what is gone. */
async function forkLost(tx: Tx, change: SessionChange): Promise<void> {
  const isCopyGone = change.record.sessionId !== null;
  await stopCheck(tx, change, 'The conversation was lost.');
  change.record = { ...change.record, sessionId: null, forkOf: isCopyGone ? change.record.forkOf : null };
  const text = isCopyGone
    ? 'Claude Code has no record of this conversation, because it ended before anything was written. The next start copies the earlier conversation again; the work in its worktree is untouched.'
    : 'Claude Code no longer has the earlier conversation: it deletes old ones after a while. The next message begins a new conversation, in which Claude knows nothing of what was said before; the work in its worktree is untouched.';
  addNotice(change, tx.now, { level: 'error', code: 'conversation-lost', text });
}
