import {
  CLAUDE_CODE,
  type Decision,
  type Denial,
  type Isolation,
  PendingRequest,
  type PermissionRule,
  RequestId,
  type RuleScope,
  type Stage,
} from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { ownProperty, truncate } from '../../lib/text.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import type { AgentEvent } from '../agent-event.ts';
import type { SavedRule } from '../kinds/shared/definition.ts';
import { hasPart, ruleMatch } from '../permissions/rule-match.ts';
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

interface Grant {
  scope: RuleScope;
  granted: readonly SavedRule[];
  by: string;
  /** When the rules stop by themselves; null: never. */
  expiresAt: string | null;
  /** Whether a rule that holds for longer gets that end date as well: only where a person sets the end date of this very rule. */
  mayShorten?: boolean;
}

/**
 * Stores the granted rules, and emits the list of the project if it changed. A rule that applies there already gets the
 * new end date, if that is later or `mayShorten`.
 * @returns the granted rules, as they are stored
 */
export async function saveRules(
  tx: Tx,
  stage: Pick<Stage, 'projectId'> & { id: Stage['id'] | null },
  { scope, granted, by, expiresAt, mayShorten = false }: Grant,
): Promise<PermissionRule[]> {
  const { projectId } = stage;
  const stageId = scope === 'stage' ? stage.id : null;
  const known = (await tx.rules.listOf(projectId, tx.now)).filter((rule) => rule.stageId === stageId);
  let hasChanged = false;
  const saved: PermissionRule[] = [];
  for (const { kind, rule } of granted) {
    const before = known.find((other) => other.kind === kind && other.rule === rule);
    if (
      before !== undefined &&
      (before.expiresAt === expiresAt || !(mayShorten || isLater(expiresAt, before.expiresAt)))
    ) {
      saved.push(before);
      continue;
    }
    const made = { ruleId: tx.newId(), scope, projectId, stageId, kind, rule, by, createdAt: tx.now };
    const after = { endedAt: null, endedBy: null, ...(before ?? made), expiresAt };
    saved.push(after);
    await tx.rules.save(after);
    hasChanged = true;
  }
  if (hasChanged) await notifyRules(tx, projectId);
  return saved;
}

const isLater = (end: string | null, other: string | null): boolean => other !== null && (end === null || end > other);

/** Emits the rules of a project. */
export async function notifyRules(tx: Tx, projectId: Stage['projectId']): Promise<void> {
  await tx.emit({ type: 'rules-updated', data: { projectId, rules: await tx.rules.listOf(projectId, tx.now) } });
}

/** How many entries are searched for a call: it is among the newest when its result comes, but for many at once. */
const LOOKBACK = [10, 200];

/** Records which of the kept rules let a call run, if Claude Code says that it was a rule. */
export async function recordRuleUse(
  { tx, change }: EventContext,
  { toolUseId, ranBy }: Extract<AgentEvent, { type: 'tool-result' }>,
): Promise<void> {
  const { stageId } = change.record;
  if (ranBy !== 'rule' && ranBy !== 'parts') return;
  const stage = await tx.stages.find(stageId);
  const rules = stage === null ? [] : await tx.rules.listFor(stage.projectId, stageId, tx.now);
  const allowing = rules.filter(({ kind }) => kind === 'allow');
  if (allowing.length === 0) return;
  const use = await findUse({ tx, change }, toolUseId);
  if (use === null) return;
  const call = { ...use, folder: stage?.worktree?.path ?? null };
  const asked = ownProperty(change.record.calls, toolUseId)?.asked ?? use.toolName;
  const sure = allowing.filter(({ rule }) => hasPart(rule, call));
  const likely = allowing.filter(({ rule }) => ruleMatch(rule, call) === 'unsure');
  // A path or a redirection is compared by Claude Code alone; it says that some rule fitted, so the only one that may have did.
  const used = sure.length > 0 ? sure : likely.length === 1 && ranBy === 'rule' ? likely : [];
  for (const { ruleId } of used)
    await tx.rules.addUse({ ruleId, stageId, toolUseId, entry: use.index, asked, at: tx.now });
}

async function findUse({ tx, change }: Pick<EventContext, 'tx' | 'change'>, toolUseId: string) {
  const fresh = change.entries.findLast((entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId);
  if (fresh?.kind === 'tool-use') return fresh;
  for (const limit of LOOKBACK) {
    const page = await tx.transcript.page(change.record.stageId, { after: undefined, before: undefined, limit });
    const entry = page.findLast((one) => one.kind === 'tool-use' && one.toolUseId === toolUseId);
    if (entry?.kind === 'tool-use') return entry;
  }
  return null;
}

type Result = Extract<AgentEvent, { type: 'tool-result' }>;

/** Records whether a command ran outside the sandbox, or inside it without asking, as its result says. */
export async function sandboxResult(context: EventContext, result: Result): Promise<void> {
  const { tx, change, sandbox } = context;
  const call = ownProperty(change.record.calls, result.toolUseId);
  if (call?.toolName !== 'Bash') return;
  // It does not matter who allowed it: a person, or something unforeseen.
  if (sandbox.isOn && result.leftSandbox === true) commandLeft(change, tx.now, call.asked);
  if (sandbox.autoAllows && result.unruled === true) await allowedBySandbox(context, result.toolUseId, call);
}

/** Adds a call that nobody was asked about to the decision log, and counts it. */
async function allowedBySandbox({ tx, change, launchId }: EventContext, toolUseId: string, call: Call): Promise<void> {
  const { stageId } = change.record;
  const { toolName, asked } = call;
  const requestId = RequestId.parse(`sandboxed:${toolUseId}`.slice(0, 200));
  const of = { stageId, requestId, kind: 'approval', toolName, toolUseId } as const;
  const decision: Decision = {
    ...of,
    asked,
    outcome: 'allowed',
    by: CLAUDE_CODE,
    at: tx.now,
    waitedMs: 0,
    reason: IN_SANDBOX,
    answers: null,
    updatedInput: null,
    delivery: 'none',
    lost: null,
    settlement: null,
    denial: null,
  };
  const request: PendingRequest = {
    ...of,
    displayName: toolName,
    input: {},
    description: asked,
    reason: null,
    blockedPath: null,
    suggestions: [],
    suppressAlwaysAllow: true,
    leavesSandbox: null,
    commands: [],
    stakes: [],
    createdAt: tx.now,
    expiresAt: null,
    agent: null,
    parentAgent: null,
  };
  if (!(await tx.requests.addDecided(request, decision, launchId))) return;
  await tx.emit({ type: 'decision-updated', data: decision });
  change.record = { ...change.record, sandboxAllowed: change.record.sandboxAllowed + 1 };
}

const IN_SANDBOX = 'It ran in the sandbox, where this project lets commands run without asking.';

/** How many characters of a command are shown. */
const MAX_COMMAND_LENGTH = 200;

/** Stores the isolation of the newest launch. `command-left` stays for the life of the session. */
export function takeIsolation(change: SessionChange, isolation: Isolation): void {
  const { record } = change;
  if (record.isolation.reason !== 'command-left') change.record = { ...record, isolation };
}

/** Lowers the isolation: a command ran, or may run, where it can reach Callboard. Forged answers are now noticed, not prevented. */
export function loosenIsolation(
  change: SessionChange,
  reason: 'command-left' | 'settings-changed',
  detail: string,
): void {
  const { isolation } = change.record;
  if (isolation.reason === 'command-left' || isolation.reason === reason) return;
  change.record = { ...change.record, isolation: { level: 'noticed', reason, detail } };
}

/** Lowers the isolation after a command ran outside the sandbox, and says so once. @param asked the command, in one line */
export function commandLeft(change: SessionChange, now: string, asked: string): void {
  const wasPrevented = change.record.isolation.level === 'prevented';
  const named = asked.length > MAX_COMMAND_LENGTH ? `${asked.slice(0, MAX_COMMAND_LENGTH)} …` : asked;
  loosenIsolation(change, 'command-left', named);
  if (!wasPrevented) return;
  const text =
    'A command was allowed to leave the sandbox. What it started may reach Callboard, so from now on a forged answer in this session is noticed, not prevented.';
  addNotice(change, now, { level: 'warning', code: 'sandbox-left', text });
}
