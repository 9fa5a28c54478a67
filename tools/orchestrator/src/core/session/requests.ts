import {
  type AlarmCode,
  type Decision,
  type LaunchId,
  type LostTrace,
  type PendingRequest,
  RequestId,
  type RequestKind,
  type SessionAlarm,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { z } from 'zod';
import { Rejection } from '../../lib/errors.ts';
import { ownProperty } from '../../lib/text.ts';
import type { StoredRequest } from '../../store/ports/session-port.ts';
import type { OutboxRow, SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import type { Ask } from '../agent-event.ts';
import { requestKinds } from '../kinds/registry.ts';
import { risksOf } from '../permissions/risk.ts';
import { addEntry, addNotice, commandsOf, type SessionChange } from './session-change.ts';
import { callAsks, callDecided } from './tool-calls.ts';

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
    ...(await hostFields(tx, stage, shown)),
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

/** Returns the hosts that a command would ask for: not those that it may reach anyway. */
async function hostFields(
  tx: Tx,
  stage: Stage | null,
  { hosts }: Pick<Ask, 'hosts'>,
): Promise<Pick<PendingRequest, 'hosts'>> {
  if (hosts === undefined || stage === null) return {};
  const project = await tx.projects.find(stage.projectId);
  const rules = await tx.rules.listFor(stage.projectId, stage.id, tx.now);
  const open = [
    ...(project?.settings.sandboxHosts ?? []),
    ...rules.flatMap((one) => (one.kind === 'host' ? [one.rule] : [])),
  ];
  const asked = hosts.filter((host) => !open.some((known) => coversHost(known, host)));
  return { hosts: asked.length === 0 ? undefined : asked };
}

/** Whether a host is meant: by its name, or by `*.` and a name that it ends with. */
const coversHost = (known: string, host: string): boolean =>
  known.startsWith('*.') ? host.endsWith(known.slice(1).toLowerCase()) : known.toLowerCase() === host;

/** Returns when a request made now is denied automatically; null if its project has no time limit. */
async function expiry(tx: Tx, stage: Stage | null): Promise<string | null> {
  const limitMs = stage === null ? null : (await tx.projects.find(stage.projectId))?.settings.requestTimeoutMs;
  return limitMs == null ? null : new Date(Date.parse(tx.now) + limitMs).toISOString();
}

/** How a request ended, without the fields that `decideRequest` fills in. */
export type Verdict = Pick<
  Decision,
  'outcome' | 'by' | 'device' | 'reason' | 'answers' | 'updatedInput' | 'hosts' | 'delivery'
>;

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

export interface AlarmContext {
  tx: Tx;
  change: SessionChange;
  /** Called after the commit, to stop the process. */
  onAlarm: () => void;
}

/** The finding; `detail` tells a person what it means and what to do next. */
export type Alarm = Pick<SessionAlarm, 'code' | 'detail'>;

const CLOSED = 'The session has an open security alarm, so nothing is allowed in it.';

/**
 * Puts the session under alarm and stops its process. The first alarm stays until a person acknowledges it; later ones are
 * only reported in the transcript, each code once. Closes open requests, because whoever caused the alarm may have made
 * them.
 */
export async function raiseAlarm({ tx, change, onAlarm }: AlarmContext, { code, detail }: Alarm): Promise<void> {
  const { alarm, stageId, seenAlarms } = change.record;
  tx.afterCommit(onAlarm);
  if (alarm !== null && seenAlarms.includes(code)) return;
  addNotice(change, tx.now, { level: 'error', code, text: detail });
  change.record = { ...change.record, seenAlarms: [...(alarm === null ? [] : seenAlarms), code] };
  if (alarm !== null) return;
  change.record = { ...change.record, alarm: { code, at: tx.now, detail }, limitWait: null, holdInterrupt: null };
  for (const request of await tx.requests.listOpenOf(stageId)) await closeRequest(tx, change, request, CLOSED);
}

/** Lets the session continue. Its queue stays held until a person releases it. @throws Rejection `no_alarm` */
export function acknowledgeAlarm(change: SessionChange, at: string, actor: string): void {
  const { alarm, stageId, queued } = change.record;
  if (alarm === null)
    throw new Rejection('no_alarm', `${stageId} has no open security alarm. Someone may have acknowledged it already.`);
  change.record = { ...change.record, alarm: null, seenAlarms: [], queueHeld: queued > 0, heldSinceAlarm: queued > 0 };
  const text = `${actor} acknowledged the alarm. The session may continue.`;
  addNotice(change, at, { level: 'info', code: 'alarm-acknowledged', text });
}

/** @throws Rejection `session_alarm` */
export function requireNoAlarm(session: Pick<SessionRecord, 'alarm' | 'stageId'> | null): void {
  if (session === null || session.alarm === null) return;
  const message = `${session.stageId} has an open security alarm. ${session.alarm.detail} Acknowledge the alarm to let it continue.`;
  throw new Rejection('session_alarm', message);
}

const STOPPED = 'The session was stopped.';
const NEXT = 'Look at the last steps in the transcript and at the changes before you let it continue.';

const DESCRIPTIONS: Readonly<Record<AlarmCode, string>> = {
  'foreign-answer':
    'A request was answered by something other than Callboard: a command that Claude ran may have approved its own request.',
  'foreign-control':
    'Claude Code received an instruction that Callboard did not send: a command that Claude ran may have changed its settings, its permissions or its tool servers.',
  'foreign-message':
    'Claude received a message that nobody sent: a command that Claude ran may have sent it in your name.',
  'foreign-mode':
    'The permission mode changed, but nobody changed it: a command that Claude ran may have given itself more permissions than you allowed.',
  'forged-output':
    'The output file of Claude Code has lines that Claude Code did not print: a command that Claude ran may have written them.',
  'foreign-rule':
    'A tool ran under a permission rule that nobody added: a command that Claude ran may have written it into a settings file.',
  'foreign-hook':
    'A hook allowed a tool, but neither you nor the project have hooks that may do that: a command that Claude ran may have written it into a settings file.',
  'transcript-mismatch':
    "The transcript shows something that Claude's own record of the conversation does not have: a command that Claude ran may have written it.",
  'foreign-store':
    'Something other than Callboard wrote to its store, where decisions and messages are. A command that this session or one of its stage ran outside of a sandbox may have done it.',
  'used-login':
    'A process that this session or a command of its stage started tried to act as a person, with a login of a terminal, an API token or a login link.',
};

/** Returns the alarm with its description. @param what the details, as a sentence; omitted if the code says everything */
export const alarmOf = (code: AlarmCode, what?: string): Alarm => ({
  code,
  detail: [DESCRIPTIONS[code], what, STOPPED, NEXT].filter((part) => part !== undefined).join(' '),
});

/** The parts of a tool result that show whether an answer counted. */
export interface AnsweredResult {
  toolUseId: string;
  isError: boolean;
  text: string;
}

/** An answer that denies. */
const Denial = z.object({ response: z.object({ message: z.string() }) });

/** How many entries are searched: the result of a call follows soon after the answer that allowed it. */
const LOOKBACK = 200;

/**
 * Records that a process or a turn ended before an answer was confirmed. If the transcript has the result of the call, the
 * answer counted; otherwise its fate is unknown, and a person settles it.
 */
export async function loseAnswer(tx: Tx, row: OutboxRow, lost: LostTrace): Promise<void> {
  const stored = await requestOf(tx, row);
  if (stored === null || stored.decision === null) return;
  const { decision } = stored;
  const newest = await tx.transcript.page(row.stageId, { after: undefined, before: undefined, limit: LOOKBACK });
  const hasCounted = newest.some((entry) => entry.kind === 'tool-result' && showsThatItCounted(decision, row, entry));
  if (hasCounted) return setDelivery(tx, stored, 'confirmed');
  await updateDecision(tx, { ...decision, delivery: 'unknown', lost });
}

/**
 * Confirms the answers that counted, as the result of their call shows: answers of unknown fate, in a resumed
 * conversation, and answers to this launch whose echo was lost, for example on a full disk.
 */
export async function settleByResult(
  tx: Tx,
  stageId: StageId,
  launchId: LaunchId,
  result: AnsweredResult,
): Promise<void> {
  for (const row of await unconfirmed(tx, launchId)) {
    const stored = await requestOf(tx, row);
    if (stored?.decision == null || !showsThatItCounted(stored.decision, row, result)) continue;
    await tx.outbox.setConfirmed(row.id, tx.now);
    await setDelivery(tx, stored, 'confirmed');
  }
  for (const decision of await tx.requests.listUnsettledOf(stageId)) {
    if (decision.toolUseId !== result.toolUseId) continue;
    const stored = await tx.requests.find(stageId, decision.requestId);
    const row = stored === null ? null : await tx.outbox.findByWireId(stored.launchId, decision.requestId);
    if (stored === null || row === null || !showsThatItCounted(decision, row, result)) continue;
    await setDelivery(tx, stored, 'confirmed');
  }
}

/**
 * Records the answers that were written and never echoed, once the turn is over and nothing is open. Such an answer either
 * counted or came after a withdrawal. The line that told which is lost, so a person settles it.
 */
export async function loseUnconfirmed(tx: Tx, launchId: LaunchId): Promise<void> {
  for (const row of await unconfirmed(tx, launchId)) {
    const endReason = 'The output of Claude Code about it was lost.';
    await tx.outbox.setVoid(row.id, endReason);
    await loseAnswer(tx, row, { ended: 'turn', writtenAt: row.writtenAt, endedAt: tx.now, endReason });
  }
}

const unconfirmed = async (tx: Tx, launchId: LaunchId): Promise<OutboxRow[]> =>
  (await tx.outbox.listOf(launchId, ['written'])).filter(({ kind }) => kind === 'answer');

/**
 * A call that succeeded was allowed: nothing else can answer without an alarm. A call that failed proves nothing, because
 * an interrupted call fails too, unless its error has the text of Callboard's denial.
 */
function showsThatItCounted(decision: Decision, row: OutboxRow, result: AnsweredResult): boolean {
  if (decision.toolUseId === '' || result.toolUseId !== decision.toolUseId) return false;
  if (decision.outcome === 'allowed' || decision.outcome === 'answered') return !result.isError;
  const no = row.body.kind === 'answer' ? Denial.safeParse(row.body.response).data : undefined;
  return no !== undefined && result.isError && result.text.includes(no.response.message);
}
