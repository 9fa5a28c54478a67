import { CLAUDE_CODE, type Decision, PendingRequest, RequestId } from '@callboard/contract';
import type { AgentEvent } from '../agent/agent-event.ts';
import { Rejection } from '../lib/errors.ts';
import { ownProperty } from '../lib/own-property.ts';
import type { SessionRecord } from '../store/records.ts';
import { truncate } from '../text/truncate.ts';
import type { EventContext } from './event-context.ts';
import { addEntry, type SessionChange } from './session-change.ts';

type Denied = Omit<Extract<AgentEvent, { type: 'call-denied' }>, 'type'>;
type Call = SessionRecord['calls'][string];

/** Calls that are remembered until it is told what became of them; parallel subagents make several at once. */
const REMEMBERED_CALLS = 64;
/** Of what Claude was told with a denial. */
const LONGEST_REASON = 2_000;

/** What the decision is called that no request came before. */
export const denialId = (toolUseId: string): string => `denied:${toolUseId}`.slice(0, 200);

/** A call has been made; nothing is known of it yet. */
export function keepCall(change: SessionChange, toolUseId: string, call: Call): void {
  const others = Object.entries(change.record.calls).filter(([id]) => id !== toolUseId);
  const calls = Object.fromEntries([...others, [toolUseId, call] as const].slice(-REMEMBERED_CALLS));
  change.record = { ...change.record, calls, lastCall: { toolUseId, denial: null } };
}

/** It is known what became of the call. */
export function forgetCall(change: SessionChange, toolUseId: string): void {
  if (ownProperty(change.record.calls, toolUseId) === undefined) return;
  const { [toolUseId]: _, ...calls } = change.record.calls;
  change.record = { ...change.record, calls };
}

/**
 * Claude Code itself denied a call: it stands in the decision log and the transcript, and is counted, once however often it is told.
 * Whether it is the last call of its turn shows when that ends.
 */
export async function callDenied({ tx, change, launchId }: EventContext, denied: Denied): Promise<void> {
  const { stageId } = change.record;
  const { toolUseId } = denied;
  if ((await tx.requests.outcomesOf(stageId, toolUseId)).some((outcome) => outcome !== 'closed')) return; // told before, or a person's
  const call = ownProperty(change.record.calls, toolUseId);
  const toolName = denied.toolName || (call?.toolName ?? 'a tool');
  const asked = call?.asked ?? toolName;
  const requestId = RequestId.parse(denialId(toolUseId));
  const decision: Decision = {
    ...{ stageId, requestId, kind: 'approval', toolName, asked, toolUseId },
    ...{ outcome: 'denied', by: CLAUDE_CODE, at: tx.now, waitedMs: 0 },
    reason: denied.reason === null ? null : truncate(denied.reason, LONGEST_REASON),
    denial: { ...denied.denial, detail: denied.denial.detail ?? modeOf(change.record, denied) },
    ...{ answers: null, updatedInput: null, delivery: 'none', lost: null, settlement: null },
  };
  const request = PendingRequest.parse({
    ...{
      stageId,
      requestId,
      kind: 'approval',
      toolName,
      displayName: toolName,
      input: {},
      description: asked,
      toolUseId,
    },
    ...{
      agent: null,
      reason: null,
      blockedPath: null,
      suggestions: [],
      suppressAlwaysAllow: true,
    },
    ...{ createdAt: tx.now },
  });
  if (!(await tx.requests.addDecided(request, decision, launchId))) return;
  addEntry(change, tx.now, { kind: 'decision', parentToolUseId: null, decision });
  await tx.emit({ type: 'call-denied', data: decision });
  const { lastCall, denials } = change.record;
  const openDenial = decision.denial === null ? null : { ...decision.denial, asked, at: tx.now };
  const isLast = lastCall?.toolUseId === toolUseId;
  change.record = {
    ...change.record,
    denials: denials + 1,
    lastCall: isLast ? { toolUseId, denial: openDenial } : lastCall,
  };
}

const modeOf = ({ mode }: SessionRecord, { denial }: Denied): string | null => (denial.source === 'mode' ? mode : null);

/**
 * The end of a turn names the calls that were denied, by persons as well. Those that nobody was asked about, and of which nothing was told
 * before (a release that does not tell), were denied by Claude Code itself, nobody knows by what.
 */
export async function deniedInTurn(context: EventContext, toolUseIds: readonly string[]): Promise<void> {
  const { tx, change } = context;
  for (const toolUseId of toolUseIds) {
    if (ownProperty(change.record.calls, toolUseId) === undefined) continue;
    if ((await tx.requests.outcomesOf(change.record.stageId, toolUseId)).length > 0) continue;
    await callDenied(context, { toolUseId, toolName: '', denial: { source: 'unknown', detail: null }, reason: null });
  }
}

/** It was found out what denied a call. */
export function nameDenial(change: SessionChange, toolUseId: string, detail: string): void {
  const { lastCall, openDenial } = change.record;
  if (lastCall?.toolUseId !== toolUseId || lastCall.denial === null) return;
  change.record = {
    ...change.record,
    lastCall: { toolUseId, denial: { ...lastCall.denial, detail } },
    openDenial: openDenial === null ? null : { ...openDenial, detail },
  };
}

/** A person has written, or has seen to it otherwise: the denial at the end of the last turn needs nobody any more. */
export function closeDenial(change: SessionChange): void {
  const { openDenial, lastCall } = change.record;
  if (openDenial === null && (lastCall === null || lastCall.denial === null)) return;
  change.record = { ...change.record, openDenial: null, lastCall: null };
}

/** A person has seen it. @throws Rejection `no_denial` */
export function acknowledgeDenial(change: SessionChange, at: string, actor: string): void {
  const { openDenial, stageId } = change.record;
  if (openDenial === null)
    throw new Rejection(
      'no_denial',
      `No denial in ${stageId} waits to be seen; somebody may have taken note of it already.`,
    );
  closeDenial(change);
  const text = `${actor} took note that Claude Code denied ${openDenial.asked}.`;
  addEntry(change, at, { kind: 'notice', parentToolUseId: null, level: 'info', code: 'denial-acknowledged', text });
}
