import { isDeepStrictEqual } from 'node:util';
import {
  awaitedTasks,
  CLAUDE_CODE,
  type Decision,
  type Denial,
  type InputChange,
  PendingRequest,
  RequestId,
  type SessionNow,
  type SessionState,
  type ToolInput,
  type TranscriptEntry,
} from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { MAX_STRING_LENGTH, ownProperty, truncate, truncateStrings } from '../../lib/text.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import { type AgentEvent, type Ask, describeTool, type HookInput, oneLine, type RecordedHook } from '../agent-event.ts';
import { addEntry, addNotice, type EventContext, type SessionChange } from './session-change.ts';

type Saved = SessionRecord['hookInputs'][number];
type Call = Extract<TranscriptEntry, { kind: 'tool-use' }>;

/** How many are kept until their calls are known. Parallel subagents make several calls at once. */
const MAX = 64;

/** Keeps an input that a hook gave to a call. Which call that is shows in a request for it, or in the record. */
export function hookChangedInput({ change }: EventContext, { change: reported }: { change: HookInput }): void {
  const input = truncateStrings(reported.input, MAX_STRING_LENGTH);
  const saved: Saved = { ...reported, input, conversationId: change.record.sessionId, toolUseId: null };
  change.record = { ...change.record, hookInputs: [...change.record.hookInputs, saved].slice(-MAX) };
}

/** Returns how a hook changed the call that a person is asked about; undefined if none did. */
export async function changeOfAsked({ tx, change }: EventContext, ask: Ask): Promise<InputChange | undefined> {
  const { hookInputs } = change.record;
  if (ask.toolUseId === '') return undefined;
  // Of several hooks, the one that ended last counts (2.1.330).
  const saved = hookInputs.findLast((one) => one.toolUseId === null && isGiven(one, ask));
  if (saved === undefined) return undefined;
  setCall(change, saved, ask.toolUseId);
  const call = await findCall(tx, change, ask.toolUseId);
  return call === null || isPartOf(call.input, ask.input) ? undefined : { hook: null, from: call.input };
}

const isGiven = ({ toolName, input }: Saved, ask: Ask): boolean =>
  toolName === ask.toolName && isPartOf(input, truncateStrings(ask.input, MAX_STRING_LENGTH));

/** Claude Code adds defaults to what it asks about. */
const isPartOf = (part: ToolInput, whole: ToolInput): boolean =>
  Object.entries(part).every(([key, value]) => isDeepStrictEqual(value, whole[key]));

/** A request was withdrawn: a hook that decided about a call of this tool decided about this one, right before. */
export function hookDecided(
  change: SessionChange,
  { toolName, toolUseId }: { toolName: string; toolUseId: string },
): void {
  const saved = change.record.hookInputs.find(
    (one) => one.when === 'deciding' && one.toolUseId === null && one.toolName === toolName,
  );
  if (saved !== undefined && toolUseId !== '') setCall(change, saved, toolUseId);
}

function setCall(change: SessionChange, saved: Saved, toolUseId: string): void {
  const hookInputs = change.record.hookInputs.map((one) => (one === saved ? { ...one, toolUseId } : one));
  change.record = { ...change.record, hookInputs };
}

/**
 * Adds to the transcript what hooks changed, as far as the calls are known.
 * @param isLast whether what is unknown now stays so: then the transcript says that as well
 * @returns whether nothing is left
 */
export async function showHookInputs(
  tx: Tx,
  change: SessionChange,
  { recorded, worktree, isLast }: { recorded: readonly RecordedHook[]; worktree: string | null; isLast: boolean },
): Promise<boolean> {
  const left: Saved[] = [];
  for (const kept of change.record.hookInputs) {
    const shown = new Set(change.record.hookInputsShown);
    const found = recorded.find(
      ({ toolUseId, digest }) =>
        digest === kept.digest &&
        (kept.toolUseId === null || kept.toolUseId === toolUseId) &&
        !shown.has(`${toolUseId} ${digest}`),
    );
    // A hook that decides is in the record without its words.
    const isKnown = found !== undefined || (kept.toolUseId !== null && (kept.when === 'deciding' || isLast));
    if (!isKnown && !isLast) left.push(kept);
    else await showHookInput(tx, change, { kept, found, worktree });
  }
  change.record = { ...change.record, hookInputs: left };
  return left.length === 0;
}

async function showHookInput(
  tx: Tx,
  change: SessionChange,
  { kept, found, worktree }: { kept: Saved; found: RecordedHook | undefined; worktree: string | null },
): Promise<void> {
  const { toolName, input, digest } = kept;
  const toolUseId = found?.toolUseId ?? kept.toolUseId;
  const call = toolUseId === null ? null : await findCall(tx, change, toolUseId);
  const hook = found?.command ?? null;
  const who = hook === null ? 'A hook' : `The hook ${oneLine(hook, MAX_COMMAND_LENGTH)}`;
  const notice = { kind: 'notice', parentToolUseId: call?.parentToolUseId ?? null, level: 'warning' } as const;
  const code = 'input-changed';
  const after = describeTool(toolName, input, worktree);
  if (toolUseId === null) {
    const text = `${who} changed a ${toolName} call to: ${after}. Claude Code’s record does not say which call.`;
    addEntry(change, tx.now, { ...notice, code, text });
    return;
  }
  const hookInputsShown = [...change.record.hookInputsShown, `${toolUseId} ${digest}`].slice(-MAX);
  change.record = { ...change.record, hookInputsShown };
  if (call !== null && isDeepStrictEqual(call.input, input)) return; // it gave back what it got
  callChanged(change, toolUseId, { input, description: after });
  const before = call === null ? '' : ` Claude wrote: ${describeTool(toolName, call.input, worktree)}.`;
  const text = `${who} changed this call to: ${after}.${before}`;
  addEntry(change, tx.now, { ...notice, code, text, changedCall: { toolUseId, input, hook } });
}

const MAX_COMMAND_LENGTH = 160;

async function findCall(tx: Tx, { record, entries }: SessionChange, toolUseId: string): Promise<Call | null> {
  const fresh = entries.findLast((entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId);
  return fresh?.kind === 'tool-use' ? fresh : tx.transcript.findCall(record.stageId, toolUseId);
}

type RunningCall = SessionRecord['running'][number];

/** How many running calls are kept. Parallel subagents make several at once. */
const MAX_CALLS = 64;
const MAX_ACTION_LENGTH = 160;

const COMMANDS: ReadonlySet<string> = new Set(['Bash', 'PowerShell']);
/** Claude Code runs these beside each other; other calls of one message run one after the other. */
const SIDE_BY_SIDE: ReadonlySet<string> = new Set(['Agent', 'Glob', 'Grep', 'Read', 'Task', 'WebFetch', 'WebSearch']);

interface BegunCall {
  toolUseId: string;
  toolName: string;
  input: ToolInput;
  parentToolUseId: string | null;
  /** The call in a few words. */
  description: string;
}

/** Claude has made a tool call. */
export function callBegan(change: SessionChange, now: string, begun: BegunCall): void {
  const { toolUseId, toolName, parentToolUseId } = begun;
  const others = change.record.running.filter((call) => call.toolUseId !== toolUseId);
  const { action, isCommand } = actionOf(begun);
  const call = { toolUseId, parentToolUseId, toolName, action, isCommand, since: now, isAsking: false };
  change.record = { ...change.record, running: [...others, call].slice(-MAX_CALLS) };
}

function actionOf({ toolName, input, description }: Pick<BegunCall, 'toolName' | 'input' | 'description'>) {
  const isCommand = COMMANDS.has(toolName) && typeof input.command === 'string';
  return { isCommand, action: oneLine(isCommand ? String(input.command) : description, MAX_ACTION_LENGTH) };
}

/** A hook has changed a call that runs, or waits to run. */
function callChanged(
  change: SessionChange,
  toolUseId: string,
  changed: Pick<BegunCall, 'input' | 'description'>,
): void {
  const call = change.record.running.find((one) => one.toolUseId === toolUseId);
  if (call !== undefined) changeCall(change, toolUseId, actionOf({ ...changed, toolName: call.toolName }));
}

/** The result of a call has arrived. What a subagent ran ends with the call that started the subagent. */
export function callEnded(change: SessionChange, toolUseId: string): void {
  const { running } = change.record;
  if (running.length === 0) return;
  const left = running.filter((call) => call.toolUseId !== toolUseId && call.parentToolUseId !== toolUseId);
  change.record = { ...change.record, running: left };
}

/** A person is asked whether a call may run. */
export function callAsks(change: SessionChange, toolUseId: string): void {
  changeCall(change, toolUseId, { isAsking: true });
}

/** The request for a call is answered or closed: from now on it runs, or its result says that it was denied. */
export function callDecided(change: SessionChange, now: string, toolUseId: string): void {
  changeCall(change, toolUseId, { isAsking: false, since: now });
}

function changeCall(change: SessionChange, toolUseId: string, fields: Partial<RunningCall>): void {
  const { running } = change.record;
  if (!running.some((call) => call.toolUseId === toolUseId)) return;
  const changed = running.map((call) => (call.toolUseId === toolUseId ? { ...call, ...fields } : call));
  change.record = { ...change.record, running: changed };
}

/** Returns what a session in this state does at this moment, as far as the store knows; null if it does nothing. */
export function nowOf(record: SessionRecord, state: SessionState, now: string): SessionNow | null {
  if (state === 'idle') return inBackground(record);
  if (state !== 'busy' && state !== 'waiting') return null;
  const { check, review } = record;
  if (review?.state === 'running') return { kind: 'review', since: review.since };
  if (review?.state === 'waiting') return null;
  if (check?.state === 'waiting') return null;
  if (check?.state === 'running')
    return { kind: 'check', command: oneLine(check.command, MAX_ACTION_LENGTH), since: check.since };
  const before = record.now;
  const call = firstRunning(record.running);
  if (call !== undefined) {
    const { toolUseId, action, isCommand, toolName } = call;
    const isShown = before?.kind === 'tool' && before.toolUseId === toolUseId;
    // A call that waited for another one begins when that has ended.
    const waited = before?.kind === 'tool' && !isShown && !SIDE_BY_SIDE.has(toolName);
    const since = isShown && before.since > call.since ? before.since : waited ? now : call.since;
    return { kind: 'tool', toolUseId, action, isCommand, since };
  }
  if (state === 'waiting') return null;
  return before?.kind === 'thinking' ? before : { kind: 'thinking', since: now };
}

/** Returns what runs in the background while Claude rests: the oldest task that the stage waits for, else the oldest. */
function inBackground({ backgroundTasks, stateSince }: SessionRecord): SessionNow | null {
  const [first] = [...awaitedTasks({ backgroundTasks }), ...backgroundTasks];
  if (first === undefined) return null;
  const { taskId, command, description, startedAt } = first;
  const action = oneLine(command ?? description, MAX_ACTION_LENGTH);
  const since = startedAt ?? stateSince;
  return { kind: 'background', taskId, action, isCommand: command !== null, since, others: backgroundTasks.length - 1 };
}

/** Returns the oldest call that runs; of a subagent's calls and the one that started it, the subagent's. */
function firstRunning(running: readonly RunningCall[]): RunningCall | undefined {
  const parents = new Set(running.map(({ parentToolUseId }) => parentToolUseId));
  return running.find(({ toolUseId, isAsking }) => !isAsking && !parents.has(toolUseId));
}

type Denied = Omit<Extract<AgentEvent, { type: 'call-denied' }>, 'type'>;
type OpenCall = SessionRecord['calls'][string];

/** How many calls without a result are kept. Parallel subagents make several at once. */
const REMEMBERED_CALLS = 64;
/** The longest reason that is kept in full, in characters. */
const MAX_REASON_LENGTH = 2_000;

/** Returns the id of the decision about a call that was denied without a request. */
export const denialId = (toolUseId: string): string => `denied:${toolUseId}`.slice(0, 200);

/** Keeps a call until its result or its denial arrives. */
export function retainCall(change: SessionChange, toolUseId: string, call: OpenCall): void {
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
