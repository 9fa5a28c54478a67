import {
  type ChangedCall,
  type Decision,
  type PermissionRule,
  type RanBy,
  RECEIPT_TEXTS,
  type Receipt,
  type ReceiptCall,
  type ReceiptReason,
  type ReceiptTurn,
  receiptCounts,
  type Stage,
  type StageId,
  type TranscriptEntry,
} from '@callboard/contract';
import { describeTool, oneLine } from '../../core/agent-event.ts';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { ruleCovers } from '../../core/permissions/rule-match.ts';
import { requireStage, type Store } from '../../store/store.ts';

/** What people consented to in each stage. */
export interface Receipts {
  /** @throws Rejection `unknown_stage` */
  of(
    stageId: StageId,
  ): Promise<{ receipt: Receipt /** For the text of a pull request, or a git note. */; markdown: string }>;
}

const PAGE = 500;

export function createReceipts({ store }: { store: Pick<Store, 'read'> }): Receipts {
  const { read } = store;

  /** What was said before Callboard ran under nobody's eyes here, so it is left out. */
  async function entriesOf({ id: stageId, adopted }: Stage): Promise<TranscriptEntry[]> {
    const entries: TranscriptEntry[] = [];
    for (;;) {
      const page = await read.transcript.page(stageId, {
        after: entries.at(-1)?.index ?? adopted?.lastEntry ?? 0,
        before: undefined,
        limit: PAGE,
      });
      if (page.length === 0) return entries;
      entries.push(...page);
    }
  }

  async function decisionsOf(stageId: StageId): Promise<Decision[]> {
    const all: Decision[] = [];
    let before: string | undefined;
    for (;;) {
      const { decisions, next } = await read.requests.decisions({
        stageId,
        limit: PAGE,
        ...(before !== undefined && { before }),
      });
      all.push(...decisions);
      if (next === null) return all;
      before = next;
    }
  }

  return {
    async of(stageId) {
      const stage = await requireStage(read, stageId);
      const rules = await read.rules.listEver(stage.projectId, stageId);
      const receipt = receiptOf({
        stage,
        rules,
        entries: await entriesOf(stage),
        decisions: await decisionsOf(stageId),
      });
      return { receipt, markdown: receiptMarkdown(receipt) };
    },
  };
}

/** Those that are named one by one: somebody decided, or nothing is known. All others are only counted. */
const NAMED: readonly ReceiptReason[] = [
  'person',
  'rule',
  'hook',
  'denied-by-person',
  'denied-by-time',
  'denied-by-claude-code',
];

const MAX_LENGTH = 12_000;
const NAMED_CALLS = 40;

/** The receipt as Markdown, folded, for the text of a pull request or a git note; bounded. */
export function receiptMarkdown(receipt: Receipt): string {
  const { total, totals, turns, others, gaps } = receipt;
  const counts = receiptCounts(totals).map(({ count, text }) => `- ${count} ${text}`);
  const rest = [
    ...turns.map(turnText).filter((text) => text !== ''),
    ...(others.length === 0
      ? []
      : [['**Besides tool calls**', '', ...others.slice(0, NAMED_CALLS).map(otherText)].join('\n')]),
  ];
  const head = [
    '<details>',
    `<summary>Receipt: ${total} tool ${total === 1 ? 'call' : 'calls'} in ${turns.length} ${turns.length === 1 ? 'turn' : 'turns'}, and who consented</summary>`,
    '',
    ...counts,
    '',
    ...(gaps.length === 0 ? [] : ['**Not known**', '', ...gaps.slice(0, 20).map((gap) => `- ${plain(gap)}`), '']),
  ].join('\n');
  return `${head}${bounded(rest)}\n\n</details>`.replaceAll(/\n{3,}/g, '\n\n');
}

function bounded(parts: readonly string[]): string {
  const saved: string[] = [];
  let size = 0;
  for (const part of parts) {
    size += part.length;
    if (size > MAX_LENGTH) return [...saved, `... and ${parts.length - saved.length} more turns`].join('\n\n');
    saved.push(part);
  }
  return saved.join('\n\n');
}

function turnText({ number, message, by, calls }: ReceiptTurn): string {
  const named = calls.filter(({ reason, changed }) => NAMED.includes(reason) || changed !== undefined);
  if (named.length === 0) return '';
  const who = message === null ? 'begun by Claude Code' : `${by ?? 'Callboard'}: ${plain(message)}`;
  const more = named.length - NAMED_CALLS;
  return [
    `**Turn ${number}**, ${who}`,
    '',
    ...named.slice(0, NAMED_CALLS).map(callText),
    ...(more > 0 ? [`- ... and ${more} more`] : []),
  ].join('\n');
}

function callText(call: ReceiptCall): string {
  const { changed } = call;
  const who = changed?.hook == null ? 'a hook' : `the hook ${code(changed.hook)}`;
  return `${reasonText(call)}${changed === undefined ? '' : `; ${who} changed it from ${code(changed.from)}`}`;
}

function reasonText({ asked, reason, by, detail }: ReceiptCall): string {
  const how =
    by === null || reason === 'rule' ? RECEIPT_TEXTS[reason] : RECEIPT_TEXTS[reason].replace('a person', plain(by));
  if (reason !== 'rule' || detail === null)
    return `- ${code(asked)}: ${how}${detail === null ? '' : ` (${plain(detail)})`}`;
  return `- ${code(asked)}: ${how} (covered by ${code(detail)}${by === null ? '' : `, which ${plain(by)} gave`})`;
}

const otherText = ({ kind, asked, outcome, by }: Receipt['others'][number]): string =>
  `- ${code(asked === '' ? kind : asked)}: ${outcome}${by === null ? '' : ` by ${plain(by)}`}`;

/** Text of others, in one line, that is no markup. */
const plain = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .slice(0, 300)
    .replaceAll(/[\\`*_{}[\]<>()#+!|@~]/g, (sign) => `\\${sign}`);

/** Code that nothing in it can end. */
function code(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').slice(0, 300);
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${line} ${fence}`;
}

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

export const receiptCommands = ({ receipts }: { receipts: Receipts }): Pick<CommandHandlers, 'get_receipt'> => ({
  get_receipt: ({ stageId }) => receipts.of(stageId),
});
