import { CLAUDE_CODE, type Decision, type Denial, PendingRequest, RequestId } from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { ownProperty, truncate } from '../../lib/text.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { AgentEvent } from '../agent-event.ts';
import { addEntry, addNotice, type EventContext, type SessionChange } from './session-change.ts';

type Denied = Omit<Extract<AgentEvent, { type: 'call-denied' }>, 'type'>;
type Call = SessionRecord['calls'][string];

/** How many calls without a result are kept. Parallel subagents make several at once. */
const REMEMBERED_CALLS = 64;
/** The longest reason that is kept in full, in characters. */
const MAX_REASON_LENGTH = 2_000;

/** Returns the id of the decision about a call that was denied without a request. */
export const denialId = (toolUseId: string): string => `denied:${toolUseId}`.slice(0, 200);

/** Keeps a call until its result or its denial arrives. */
export function retainCall(change: SessionChange, toolUseId: string, call: Call): void {
  const others = Object.entries(change.record.calls).filter(([id]) => id !== toolUseId);
  const calls = Object.fromEntries([...others, [toolUseId, call] as const].slice(-REMEMBERED_CALLS));
  change.record = { ...change.record, calls, lastCall: { toolUseId, denial: null } };
}

/** Drops a call whose result has arrived. */
export function forgetCall(change: SessionChange, toolUseId: string): void {
  if (ownProperty(change.record.calls, toolUseId) === undefined) return;
  const { [toolUseId]: _, ...calls } = change.record.calls;
  change.record = { ...change.record, calls };
}

/**
 * Records that Claude Code itself denied a call: adds it to the decision log and the transcript, and counts it. Repeated
 * reports of a call change nothing. Whether it was the last call of its turn shows when the turn ends.
 */
export async function callDenied({ tx, change, launchId }: EventContext, denied: Denied): Promise<void> {
  const { stageId } = change.record;
  const { toolUseId } = denied;
  if ((await tx.requests.outcomesOf(stageId, toolUseId)).some((outcome) => outcome !== 'closed')) return; // reported before, or denied by a person
  const call = ownProperty(change.record.calls, toolUseId);
  const toolName = denied.toolName || (call?.toolName ?? 'a tool');
  const asked = call?.asked ?? toolName;
  const requestId = RequestId.parse(denialId(toolUseId));
  const decision: Decision = {
    stageId,
    requestId,
    kind: 'approval',
    toolName,
    asked,
    toolUseId,
    outcome: 'denied',
    by: CLAUDE_CODE,
    at: tx.now,
    waitedMs: 0,
    reason: denied.reason === null ? null : truncate(denied.reason, MAX_REASON_LENGTH),
    denial: { ...denied.denial, detail: denied.denial.detail ?? modeOf(change.record, denied) },
    answers: null,
    updatedInput: null,
    delivery: 'none',
    lost: null,
    settlement: null,
  };
  const request = PendingRequest.parse({
    stageId,
    requestId,
    kind: 'approval',
    toolName,
    displayName: toolName,
    input: {},
    description: asked,
    toolUseId,
    agent: null,
    reason: null,
    blockedPath: null,
    suggestions: [],
    suppressAlwaysAllow: true,
    createdAt: tx.now,
  });
  if (!(await tx.requests.addDecided(request, decision, launchId))) return;
  addEntry(change, tx.now, { kind: 'decision', parentToolUseId: null, decision });
  await tx.emit({ type: 'call-denied', data: decision });
  const { lastCall, denials } = change.record;
  const openDenial = decision.denial === null ? null : { ...decision.denial, asked, at: tx.now, requestId };
  const isLast = lastCall?.toolUseId === toolUseId;
  change.record = {
    ...change.record,
    denials: denials + 1,
    lastCall: isLast ? { toolUseId, denial: openDenial } : lastCall,
  };
}

const modeOf = ({ mode }: SessionRecord, { denial }: Denied): string | null => (denial.source === 'mode' ? mode : null);

/**
 * Records the denied calls that the end of a turn names, which include those that a person denied. A call without a request
 * and without an earlier report (some releases send none) was denied by Claude Code itself, for an unknown reason.
 */
export async function deniedInTurn(context: EventContext, toolUseIds: readonly string[]): Promise<void> {
  const { tx, change } = context;
  for (const toolUseId of toolUseIds) {
    if (ownProperty(change.record.calls, toolUseId) === undefined) continue;
    if ((await tx.requests.outcomesOf(change.record.stageId, toolUseId)).length > 0) continue;
    await callDenied(context, { toolUseId, toolName: '', denial: { source: 'unknown', detail: null }, reason: null });
  }
}

/** Records that a hook deferred a call, with which its turn ended: for people it is like a denial, as it did not run and nobody was asked. */
export async function callDeferred(
  context: EventContext,
  call: { toolUseId: string; toolName: string },
): Promise<void> {
  const { change, launchId } = context;
  const { toolUseId, toolName } = call;
  const asked = ownProperty(change.record.calls, toolUseId)?.asked ?? toolName;
  await callDenied(context, { ...call, denial: { source: 'hook', detail: null, isDeferred: true }, reason: null });
  change.record = { ...change.record, deferred: { toolUseId, asked, launchId } };
}

/**
 * A message is given to Claude after a deferred call. The process that deferred it then drops the call, and tells Claude that its
 * result is missing; it prints neither (2.1.330). A resumed process takes the call up again first: see `deferredAgain`.
 */
export function dropDeferred(change: SessionChange, at: string): void {
  const { deferred, launchId } = change.record;
  if (deferred === null || deferred.launchId !== launchId) return;
  change.record = { ...change.record, deferred: null };
  const text = `With this message Claude reads that the deferred call ${deferred.asked} has no result (“[Tool result missing due to internal error]”). It did not run, and does not unless Claude makes it again.`;
  addNotice(change, at, { level: 'warning', code: 'call-deferred', text });
}

/**
 * A resumed process has taken up the deferred call: it begins with a turn of its own, under the id of a message that nobody sent
 * (2.1.330). Whatever else nobody sent stays a stranger.
 */
export function deferredAgain(change: SessionChange, toolUseId: string): void {
  const { deferred, strangers, launchId } = change.record;
  if (deferred?.toolUseId !== toolUseId || deferred.launchId === launchId) return;
  const [own] = strangers;
  change.record = { ...change.record, deferred: null, strangers: strangers.slice(1), ownMessage: own ?? null };
}

/** Adds the rule that denied a call, if the session still shows that denial. */
export function nameDenial(change: SessionChange, toolUseId: string, named: Pick<Denial, 'detail' | 'settings'>): void {
  const { lastCall, openDenial } = change.record;
  if (lastCall?.toolUseId !== toolUseId || lastCall.denial === null) return;
  change.record = {
    ...change.record,
    lastCall: { toolUseId, denial: { ...lastCall.denial, ...named } },
    openDenial: openDenial === null ? null : { ...openDenial, ...named },
  };
}

/** Closes the denial at the end of the last turn: someone wrote a message, or dealt with it in another way. */
export function closeDenial(change: SessionChange): void {
  const { openDenial, lastCall } = change.record;
  if (openDenial === null && (lastCall === null || lastCall.denial === null)) return;
  change.record = { ...change.record, openDenial: null, lastCall: null };
}

/** Closes the denial for a person who took note of it, and says so in the transcript. @throws Rejection `no_denial` */
export function acknowledgeDenial(change: SessionChange, at: string, actor: string): void {
  const { openDenial, stageId } = change.record;
  if (openDenial === null)
    throw new Rejection(
      'no_denial',
      `${stageId} has no denial to acknowledge. Someone may have acknowledged it already.`,
    );
  closeDenial(change);
  const what = openDenial.isDeferred === true ? 'a hook deferred' : 'Claude Code denied';
  const text = `${actor} acknowledged that ${what} ${openDenial.asked}.`;
  addNotice(change, at, { level: 'info', code: 'denial-acknowledged', text });
}
