import { type Decision, type PendingRequest, RequestId, type RequestKind, type Stage } from '@callboard/contract';
import type { Ask } from '../agent/agent-event.ts';
import { risksOf } from '../agent/stakes/stakes-of.ts';
import { requestKinds } from '../kinds/registry.ts';
import { ownProperty } from '../lib/own-property.ts';
import type { StoredRequest } from '../store/ports/requests-table.ts';
import type { OutboxRow, SessionRecord } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { commandsOf } from './commands-of.ts';
import { callAsks, callDecided } from './running-calls.ts';
import { addEntry, type SessionChange } from './session-change.ts';

/** Opens a request to a person. Does nothing if the stage already had a request with this id. */
export async function openRequest(
  tx: Tx,
  change: SessionChange,
  { requestId, kind, ask }: { requestId: RequestId; kind: RequestKind; ask: Ask },
): Promise<void> {
  const { stageId, launchId, alarm, mode, modeBeforePlan } = change.record;
  if (launchId === null || alarm !== null) return;
  const { agentId, ...shown } = ask;
  const stage = await tx.stages.find(stageId);
  const request: PendingRequest = {
    stageId,
    requestId,
    kind,
    ...askingAgents(change.record, agentId),
    ...(mode === 'plan' && modeBeforePlan !== null && { modeBefore: modeBeforePlan }),
    commands: [],
    createdAt: tx.now,
    expiresAt: await expiry(tx, stage),
    stakes: risksOf({ kind, ...shown }, stage?.worktree?.path ?? null),
    ...shown,
    ...(requestKinds[kind].isAskedByCommand && (await commandFields(tx, change))),
  };
  if (!(await tx.requests.open(request, launchId))) return;
  callAsks(change, request.toolUseId);
  await tx.emit({ type: `${kind}-requested`, data: request });
}

/** Names the subagent that asks, and the one that started it. */
function askingAgents(
  { agents }: SessionRecord,
  agentId: string | null,
): Pick<PendingRequest, 'agent' | 'parentAgent'> {
  const nameOf = (id: string | null) => (id === null ? null : (ownProperty(agents, id)?.description ?? id));
  const parent = agentId === null ? null : (ownProperty(agents, agentId)?.parent ?? null);
  return { agent: nameOf(agentId), parentAgent: nameOf(parent) };
}

/**
 * Fields of a request that comes from a running command. The CLI names an id that belongs to no call, and suggests a rule
 * that would also let WebFetch read the host, so neither is used: Callboard keeps a rule itself.
 */
const commandFields = async (tx: Tx, change: SessionChange) => ({
  toolUseId: '',
  suggestions: [],
  commands: await commandsOf(tx, change),
});

/** Returns when a request made now is denied automatically; null if its project has no time limit. */
async function expiry(tx: Tx, stage: Stage | null): Promise<string | null> {
  const limitMs = stage === null ? null : (await tx.projects.find(stage.projectId))?.settings.requestTimeoutMs;
  return limitMs == null ? null : new Date(Date.parse(tx.now) + limitMs).toISOString();
}

/** How a request ended, without the fields that `decideRequest` fills in. */
export type Verdict = Pick<Decision, 'outcome' | 'by' | 'device' | 'reason' | 'answers' | 'updatedInput' | 'delivery'>;

/** Records how a request ended and emits `approval-resolved`. Any later answer is a conflict. */
export async function decideRequest(
  tx: Tx,
  change: SessionChange,
  request: PendingRequest,
  verdict: Verdict,
): Promise<Decision> {
  const { stageId, requestId, kind, toolName, toolUseId, createdAt, inputChange } = request;
  const waitedMs = Math.max(0, Date.parse(tx.now) - Date.parse(createdAt));
  const asked = requestKinds[kind].describe(request, (await tx.stages.find(stageId))?.worktree?.path ?? null);
  const open = { denial: null, lost: null, settlement: null };
  const decision: Decision = {
    stageId,
    requestId,
    kind,
    toolName,
    toolUseId,
    asked,
    at: tx.now,
    waitedMs,
    ...verdict,
    ...open,
    ...(inputChange !== undefined && { inputChange }),
  };
  await tx.requests.decide(decision);
  callDecided(change, tx.now, toolUseId);
  addEntry(change, tx.now, { kind: 'decision', parentToolUseId: null, decision });
  await tx.emit({ type: 'approval-resolved', data: decision });
  return decision;
}

/** Closes a request that nobody answered because the CLI withdrew it or its process ended. */
export async function closeRequest(tx: Tx, change: SessionChange, request: PendingRequest, why: string): Promise<void> {
  const { stageId, requestId, held } = request;
  const reason = held === undefined ? why : `${why} ${held.by} had just answered it; that answer was not sent.`;
  await tx.emit({ type: 'approval-cancelled', data: { stageId, requestId, reason } });
  const verdict = { outcome: 'closed', by: null, reason, answers: null, updatedInput: null, delivery: 'none' } as const;
  await decideRequest(tx, change, request, verdict);
}

/** Records how far an answer got. The delivery is no longer `unknown` then, so the trace of the loss is removed. */
export async function setDelivery(
  tx: Tx,
  { decision }: StoredRequest,
  delivery: Exclude<Decision['delivery'], 'unknown'>,
): Promise<void> {
  if (decision !== null && decision.delivery !== delivery)
    await updateDecision(tx, { ...decision, delivery, lost: null });
}

/** Stores a changed decision and emits `decision-updated`. */
export async function updateDecision(tx: Tx, decision: Decision): Promise<void> {
  await tx.requests.decide(decision);
  await tx.emit({ type: 'decision-updated', data: decision });
}

/** Returns the request that an outbox row answers; null for a refusal that Callboard sent without a request. */
export async function requestOf(tx: Tx, row: OutboxRow): Promise<StoredRequest | null> {
  // The wire id of an answer is the id of its request.
  return tx.requests.find(row.stageId, RequestId.parse(row.wireId));
}
