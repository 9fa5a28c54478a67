import type { AgentEvent, LastingEvent, TurnEnd } from '../agent/agent-event.ts';
import { describeTool } from '../agent/describe-tool.ts';
import { todosAfterCall, todosAfterNews } from '../agent/todos.ts';
import { ownProperty } from '../lib/own-property.ts';
import { type SessionRecord, textMessage } from '../store/records.ts';
import { LONGEST_RESULT, LONGEST_STRING, truncate, truncateRaw, truncateStrings } from '../text/truncate.ts';
import { takeTaskStart, takeTasks } from './background-tasks.ts';
import { agentsWork } from './change-session.ts';
import { MINIMAL, tellGap } from './cli-gaps.ts';
import { callDenied, deniedInTurn, forgetCall, keepCall } from './denials.ts';
import { checkCommandOutput, checkEcho, foreignControl, takeMode } from './detect-foreign-input.ts';
import type { EventContext } from './event-context.ts';
import { hasUnreadMessages } from './message-delivery.ts';
import { checkStrangers, peerMessage, takeStranger } from './peer-messages.ts';
import { firstPrompt } from './pipeline.ts';
import { sandboxResult } from './sandbox-results.ts';
import { alarmOf, raiseAlarm } from './session-alarm.ts';
import { addEntry } from './session-change.ts';
import { closeStaleNetwork } from './stale-network.ts';
import { asked, foreignHook, initialized, refuse, response, withdrawn } from './take-requests.ts';
import { loseUnconfirmed, settleByResult } from './unconfirmed-answers.ts';

async function turnEnded(context: EventContext, end: TurnEnd): Promise<void> {
  const { tx, change, launchId } = context;
  await haveRead(context, end.messageIds ?? []);
  await checkStrangers(context);
  await deniedInTurn(context, end.denied ?? []);
  const { record } = change;
  // A subagent goes on behind the turn, and so may what it asked.
  if (!agentsWork(record)) await loseUnconfirmed(tx, launchId);
  const { durationMs, tokens } = end;
  const costUsd = ownCost(record, end);
  const blocked = end.outcome === 'succeeded' ? record.promptBlocked : null;
  const { outcome, message } =
    blocked === null
      ? end
      : ({ outcome: 'failed', message: `A hook kept the message from Claude: ${blocked}` } as const);
  change.record = {
    ...record,
    turnRunning: await hasUnreadMessages(tx, launchId),
    turnBegun: false,
    turnMessages: [],
    lastTurnMessages: outcome === 'succeeded' ? record.turnMessages : [],
    promptBlocked: null,
    lastTurn: { outcome, message, at: tx.now },
    openDenial: outcome === 'succeeded' ? (record.lastCall?.denial ?? null) : null,
    calls: agentsWork(record) ? record.calls : {},
    costUsd: rounded(record.costUsd + (costUsd ?? 0)),
    costCounted: end.costUsd ?? record.costCounted,
    tokens: tokens ?? record.tokens,
    queueHeld: outcome !== 'succeeded',
    heldSinceAlarm: false,
    blocks: {},
  };
  addEntry(change, tx.now, { kind: 'turn-end', parentToolUseId: null, outcome, message, durationMs, costUsd });
  await closeStaleNetwork(context, true);
}

/** The CLI tells its count so far, which begins anew with `/clear` alone. */
function ownCost(record: SessionRecord, { costUsd }: TurnEnd): number | null {
  if (costUsd === null) return null;
  const before = record.costCounted ?? record.costUsd;
  return rounded(costUsd < before ? costUsd : costUsd - before);
}

/** Without what only comes of adding and taking away: no price is that small. */
const rounded = (costUsd: number) => Number(costUsd.toFixed(9));

type NoticeEntry = Extract<AgentEvent, { type: 'notice' }>['entry'];

const keptNotice = (entry: NoticeEntry): NoticeEntry =>
  entry.kind === 'unknown' ? { ...entry, raw: truncateRaw(entry.raw) } : entry;

/** How many model messages are remembered for naming their blocks; parallel subagents print several at once. */
const REMEMBERED_MESSAGES = 32;

/** Takes one event of an agent into the store. */
export async function applyEvent(context: EventContext, event: LastingEvent): Promise<void> {
  const { tx, change } = context;
  const { record } = change;
  switch (event.type) {
    case 'conversation':
      change.record = { ...record, sessionId: event.sessionId };
      return;
    case 'conversation-lost':
      return conversationLost(context);
    case 'prompt-blocked':
      change.record = { ...record, promptBlocked: event.reason };
      return;
    case 'turn-started':
      if (event.mode !== null) await takeMode(context, event.mode);
      change.record = {
        ...change.record,
        turnRunning: true,
        turnBegun: true,
        joinedMessages: event.messageIds.length > 1 ? [...event.messageIds] : [],
        model: event.model ?? record.model,
        cliVersion: event.version ?? record.cliVersion,
        mcpServers: event.mcpServers ?? record.mcpServers,
      };
      if (event.isMinimal) tellGap(change, tx.now, MINIMAL);
      return haveRead(context, event.messageIds);
    case 'mode-changed':
      return takeMode(context, event.mode);
    case 'message-echoed':
      return checkEcho(context, event.messageId, event.text);
    case 'peer-message':
      return peerMessage(context, event);
    case 'command-output':
      return checkCommandOutput(context);
    case 'forged-line':
      return raiseAlarm(context, alarmOf('forged-output'));
    case 'reply-to-nobody':
      return foreignControl(context);
    case 'message-progress':
      return messageProgress(context, event.messageId, event.progress);
    case 'block':
      block(context, event);
      return;
    case 'tool-result': {
      const { type: kind, text, underRule: _rule, leftSandbox: _left, unruled: _unruled, isTold, ...result } = event;
      const sandboxFailure = context.sandbox.isOn ? event.sandboxFailure : null;
      addEntry(change, tx.now, { kind, ...result, sandboxFailure, text: truncate(text, LONGEST_RESULT) });
      await sandboxResult(context, event);
      if (event.allowedBy === 'hook' && !context.mayHooksAllow) await foreignHook(context);
      await closeStaleNetwork(context, false);
      if (isTold === true || !event.isError) forgetCall(change, event.toolUseId);
      return settleByResult(tx, record.stageId, context.launchId, event);
    }
    case 'call-denied':
      return callDenied(context, event);
    case 'todos':
      change.record = { ...record, todos: [...todosAfterNews(record.todos, event.news)] };
      return;
    case 'asked':
      return asked(context, event);
    case 'asked-unknown':
      return refuse(context, event);
    case 'withdrawn':
      return withdrawn(context, event.requestId);
    case 'response':
      return response(context, event);
    case 'initialized':
      return initialized(context, event);
    case 'cost-count':
      change.record = { ...record, costCounted: event.costUsd };
      return;
    case 'offered':
      return tx.capabilities.save(record.stageId, tx.now, event.capabilities);
    case 'turn-ended':
      return turnEnded(context, event.end);
    case 'task-started':
      return takeTaskStart(context, event);
    case 'tasks':
      change.record = takeTasks(record, event.tasks, tx.now);
      return closeStaleNetwork(context, !record.turnRunning);
    case 'notice':
      addEntry(change, tx.now, keptNotice(event.entry));
      return;
    default:
      return event satisfies never;
  }
}

function block({ tx, change, worktree }: EventContext, event: Extract<AgentEvent, { type: 'block' }>): void {
  const { apiMessageId, parentToolUseId } = event;
  const index = ownProperty(change.record.blocks, apiMessageId) ?? 0;
  const others = Object.entries(change.record.blocks).filter(([id]) => id !== apiMessageId);
  const blocks = Object.fromEntries([...others, [apiMessageId, index + 1] as const].slice(-REMEMBERED_MESSAGES));
  change.record = { ...change.record, blocks };
  const { block: content } = event;
  if (content.kind === 'other') return;
  if (content.kind === 'tool-use') {
    const lastAction = describeTool(content.toolName, content.input, worktree);
    // A subagent's list is not the session's.
    const before = change.record.todos;
    const todos = parentToolUseId === null ? todosAfterCall(before, content.toolName, content.input) : before;
    change.record = { ...change.record, lastAction, todos: [...todos] };
    keepCall(change, content.toolUseId, { toolName: content.toolName, asked: lastAction });
    const input = truncateStrings(content.input, LONGEST_STRING);
    addEntry(change, tx.now, { ...content, input, parentToolUseId });
    return;
  }
  const text = truncate(content.text, LONGEST_STRING);
  addEntry(change, tx.now, { ...content, text, parentToolUseId, blockId: blockId(apiMessageId, index) });
}

/** What a content block is called, in the stream and in the transcript alike. */
export const blockId = (apiMessageId: string, index: number): string => `${apiMessageId}:${index}`;

async function messageProgress(
  context: EventContext,
  messageId: string,
  progress: 'consumed' | 'finished' | 'cancelled',
): Promise<void> {
  const { tx, change, launchId, edges } = context;
  const row = await tx.outbox.findByWireId(launchId, messageId);
  if (row === null) return takeStranger(context, messageId, progress);
  if (row.body.kind !== 'message' || row.state === 'confirmed' || row.state === 'void') return;
  if (progress === 'cancelled') {
    // An interrupt took it back before the model read it. It waits as a row again, under a new id: the CLI drops one it has seen.
    await tx.outbox.setVoid(row.id, 'taken back by an interrupt');
    const again = {
      id: edges.newId(),
      wireId: edges.newWireId(),
      stageId: row.stageId,
      launchId: null,
      body: row.body,
    };
    await tx.outbox.insert({ ...again, actor: row.actor, createdAt: row.createdAt, position: row.position });
    change.queueChanged = true;
    // A turn that had not begun is over with it: no `result` follows then (seen with 2.1.330).
    const turnRunning = change.record.turnBegun || (await hasUnreadMessages(tx, launchId));
    change.record = { ...change.record, turnRunning, queueHeld: true };
    return;
  }
  await tx.outbox.setConfirmed(row.id, tx.now);
  if (progress === 'consumed') {
    change.record = { ...change.record, turnBegun: true, turnMessages: [...change.record.turnMessages, row.id] };
  }
  // Finished without having been begun: the CLI had read it in an earlier life, and no result follows.
  if (progress === 'finished') change.record = { ...change.record, turnRunning: await hasUnreadMessages(tx, launchId) };
}

/** The beginning and the end of a turn name its messages, so that none stays unread where the lines that tell of each are missing. */
async function haveRead(context: EventContext, messageIds: readonly string[]): Promise<void> {
  for (const id of messageIds) await messageProgress(context, id, 'consumed');
}

/** The next start begins afresh, with the stage's own prompt before whatever waits. */
async function conversationLost({ tx, change, launchId, edges }: EventContext): Promise<void> {
  const { stageId } = change.record;
  const stage = await tx.stages.find(stageId);
  if (stage === null) return;
  const prompt = firstPrompt(stage);
  const given = await tx.outbox.listOf(launchId, ['accepted', 'written']); // those go back to the queue by themselves
  const isGiven = given.some(({ body }) => body.kind === 'message' && body.text === prompt);
  const front = ((await tx.outbox.queueOf(stageId))[0]?.position ?? 1) - 1;
  const row = { id: edges.newId(), stageId, launchId: null, wireId: edges.newWireId(), actor: null, createdAt: tx.now };
  if (!isGiven) await tx.outbox.insert({ ...row, body: textMessage(prompt), position: front });
  change.record = { ...change.record, sessionId: null, phaseIndex: 0, atGate: false };
  change.queueChanged = true;
  const text =
    'Claude Code has no record of this conversation, so it cannot be resumed (it was ended before anything was written). Start the stage to begin afresh with its prompt; the work in its worktree is untouched.';
  addEntry(change, tx.now, { kind: 'notice', parentToolUseId: null, level: 'error', code: 'conversation-lost', text });
}
