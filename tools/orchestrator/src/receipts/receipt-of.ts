import type {
  ChangedCall,
  Decision,
  PermissionRule,
  RanBy,
  Receipt,
  ReceiptCall,
  ReceiptReason,
  ReceiptTurn,
  Stage,
  TranscriptEntry,
} from '@callboard/contract';
import { describeTool, oneLine } from '../agent/describe-tool.ts';
import { ruleCovers } from '../agent/rule-covers.ts';

/** What a receipt is made of. */
export interface ReceiptSources {
  stage: Pick<Stage, 'id' | 'title' | 'worktree'>;
  /** The whole transcript, oldest first. */
  entries: readonly TranscriptEntry[];
  /** The stage's decisions, in any order. */
  decisions: readonly Decision[];
  /** The rules that people gave, of the stage and its project. */
  rules: readonly PermissionRule[];
}

type Use = Extract<TranscriptEntry, { kind: 'tool-use' }>;
type Result = Extract<TranscriptEntry, { kind: 'tool-result' }>;

const MAX_MESSAGE_LENGTH = 160;

/** Makes the receipt of a stage. Every tool call of the transcript is in it exactly once, also one that nothing is known about. */
export function receiptOf({ stage, entries, decisions, rules }: ReceiptSources): Receipt {
  const results = new Map<string, Result>();
  for (const entry of entries) if (entry.kind === 'tool-result') results.set(entry.toolUseId, entry);
  const decided = byCall(decisions);
  const changes = new Map<string, ChangedCall>();
  for (const entry of entries)
    if (entry.kind === 'notice' && entry.changedCall !== undefined)
      changes.set(entry.changedCall.toolUseId, entry.changedCall);
  const folder = stage.worktree?.path ?? null;
  const turns = turnsOf(entries, (written) => {
    const change = changes.get(written.toolUseId);
    const use = change === undefined ? written : { ...written, input: change.input };
    const asked = describeTool(use.toolName, use.input, folder);
    const from = describeTool(written.toolName, written.input, folder);
    const changed = change !== undefined && { changed: { hook: change.hook, from } };
    const facts = { decision: decided.get(use.toolUseId), result: results.get(use.toolUseId), use, rules };
    return { toolUseId: use.toolUseId, asked, isAgents: use.parentToolUseId !== null, ...changed, ...why(facts) };
  });
  const calls = turns.flatMap((turn) => turn.calls);
  const known = new Set(calls.map(({ toolUseId }) => toolUseId));
  return {
    stageId: stage.id,
    title: stage.title,
    turns,
    total: calls.length,
    totals: totalsOf(calls),
    others: decisions
      .filter(({ toolUseId, kind }) => toolUseId === '' || kind === 'network' || !known.has(toolUseId))
      .toSorted((a, b) => a.at.localeCompare(b.at))
      .map(({ kind, asked, outcome, by, at }) => ({ kind, asked, outcome, by, at })),
    gaps: gapsOf(turns, entries),
  };
}

/** The decision that counts for each call: one that somebody made comes before one that was closed. */
function byCall(decisions: readonly Decision[]): ReadonlyMap<string, Decision> {
  const found = new Map<string, Decision>();
  for (const decision of decisions.toSorted((a, b) => a.at.localeCompare(b.at))) {
    if (decision.toolUseId === '' || decision.kind === 'network') continue;
    const before = found.get(decision.toolUseId);
    if (before === undefined || before.outcome === 'closed' || decision.outcome !== 'closed')
      found.set(decision.toolUseId, decision);
  }
  return found;
}

/** Puts each call into its turn, the first time that it is seen. */
function turnsOf(entries: readonly TranscriptEntry[], callOf: (use: Use) => ReceiptCall): ReceiptTurn[] {
  const turns: ReceiptTurn[] = [];
  const seen = new Set<string>();
  let hasEnded = true;
  const begin = (at: string, message: string | null, by: string | null): void => {
    turns.push({ number: turns.length + 1, at, message, by, calls: [] });
    hasEnded = false;
  };
  for (const entry of entries) {
    if (entry.kind === 'user' && entry.parentToolUseId === null && hasEnded)
      begin(entry.at, oneLine(entry.text, MAX_MESSAGE_LENGTH), entry.by);
    if (entry.kind === 'turn-end') hasEnded = true;
    if (entry.kind !== 'tool-use' || seen.has(entry.toolUseId)) continue;
    seen.add(entry.toolUseId);
    // A subagent may go on after the turn that started it.
    if (turns.length === 0 || (hasEnded && entry.parentToolUseId === null)) begin(entry.at, null, null);
    turns.at(-1)?.calls.push(callOf(entry));
  }
  return turns;
}

interface CallFacts {
  decision: Decision | undefined;
  result: Result | undefined;
  use: Use;
  rules: readonly PermissionRule[];
}

type Why = Pick<ReceiptCall, 'reason' | 'by' | 'detail'>;

const BY_CLAUDE: Readonly<Record<RanBy, ReceiptReason>> = {
  person: 'person',
  rule: 'rule',
  parts: 'claude-code',
  hook: 'hook',
  mode: 'mode',
  classifier: 'classifier',
  other: 'claude-code',
};

const PARTS = 'each part by a rule, or because it only reads';

/** Why a call ran or did not: by the decision log first, then by what Claude Code tells, never by a guess. */
function why({ decision, result, use, rules }: CallFacts): Why {
  if (decision !== undefined && decision.outcome !== 'closed') return decidedReason(decision);
  if (decision !== undefined && (result === undefined || result.isError))
    return { reason: 'not-run', by: null, detail: decision.reason };
  if (result === undefined || result.stopped === 'before') return { reason: 'not-run', by: null, detail: null };
  const ranBy = result.ranBy ?? (result.allowedBy === 'hook' ? 'hook' : undefined);
  if (ranBy === undefined) return { reason: 'no-record', by: null, detail: null };
  if (ranBy !== 'rule' && ranBy !== 'parts') return { reason: BY_CLAUDE[ranBy], by: null, detail: null };
  const rule = rules.find((one) => one.kind === 'allow' && ruleCovers(one.rule, use));
  if (rule !== undefined) return { reason: 'rule', by: rule.by, detail: rule.rule };
  return { reason: BY_CLAUDE[ranBy], by: null, detail: ranBy === 'parts' ? PARTS : null };
}

function decidedReason({ outcome, by, reason, denial }: Decision): Why {
  if (outcome === 'allowed' || outcome === 'answered') return { reason: 'person', by, detail: reason };
  if (outcome === 'timed-out') return { reason: 'denied-by-time', by: null, detail: reason };
  if (denial === null) return { reason: 'denied-by-person', by, detail: reason };
  if (denial.isDeferred === true) return { reason: 'not-run', by: null, detail: 'a hook deferred it' };
  const source = denial.source === 'unknown' ? null : denial.source;
  const detail = [source, denial.detail].filter((text) => text !== null).join(': ');
  return { reason: 'denied-by-claude-code', by: null, detail: detail === '' ? null : detail };
}

function totalsOf(calls: readonly ReceiptCall[]): Receipt['totals'] {
  const totals: Receipt['totals'] = {};
  for (const { reason } of calls) totals[reason] = (totals[reason] ?? 0) + 1;
  return totals;
}

/** Notices after which something may be missing from the transcript. */
const LOSSES: Readonly<Record<string, string>> = {
  'output-lost': 'Output of Claude was lost',
  'output-cut-off': 'A line of Claude was cut off',
  'turn-forgotten': 'A turn was forgotten by Claude Code',
  'conversation-damaged': 'Claude was resumed without a part of the conversation',
  'conversation-lost': 'The conversation was lost and begun again',
};

function gapsOf(turns: readonly ReceiptTurn[], entries: readonly TranscriptEntry[]): string[] {
  const unknown = turns.flatMap(({ number, calls }) => {
    const without = calls.filter(({ reason }) => reason === 'no-record').length;
    const what = without === 1 ? '1 tool call has' : `${without} tool calls have`;
    return without === 0 ? [] : [`Turn ${number}: ${what} no record of what let it run.`];
  });
  const lost = entries.flatMap((entry) => {
    const text = entry.kind === 'notice' ? LOSSES[entry.code] : undefined;
    return text === undefined ? [] : [`${text} (${entry.at}): tool calls in it have no record.`];
  });
  return [...unknown, ...lost];
}
