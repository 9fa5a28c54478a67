import {
  CLAUDE_CODE,
  type Decision,
  type Isolation,
  type PendingRequest,
  type PermissionRule,
  RequestId,
  type RuleScope,
  type Stage,
} from '@callboard/contract';
import { ownProperty } from '../../lib/text.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import type { AgentEvent } from '../agent-event.ts';
import type { SavedRule } from '../kinds/shared/definition.ts';
import { hasPart, ruleMatch } from '../permissions/rule-match.ts';
import { addNotice, type EventContext, type SessionChange } from './session-change.ts';

type Call = SessionRecord['calls'][string];

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
