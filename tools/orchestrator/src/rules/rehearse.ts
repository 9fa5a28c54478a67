import type { DryRun, PermissionRule, ProjectId, StageId } from '@callboard/contract';
import { RULE } from '../agent/rule-covers.ts';
import { ruleMatch } from '../agent/rule-match.ts';
import { createYield } from '../lib/breath.ts';
import type { AnsweredCall } from '../store/ports/requests-table.ts';
import type { Tables } from '../store/store.ts';

interface DryRunResult {
  rule: string;
  projectId: ProjectId;
  /** Undefined for the whole project. */
  stageId: StageId | undefined;
  /** Rules that apply as well, or would be granted with it. */
  others: readonly string[];
}

/** How many requests are read at once, and how many in all, the newest first. */
const SLICE = 1_000;
const MAX = 100_000;
/** How many denials are listed. */
const LISTED = 100;

/** The tools whose calls a rule may cover, of those that people are asked about. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  Edit: ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'],
  Read: ['Read', 'Glob', 'Grep'],
};

/**
 * Plays a rule against the decision log. What it counts as answered, the rule would surely have answered (see `ruleMatch`).
 * Reads in slices and lets others work in between.
 */
export async function dryRun(read: Pick<Tables, 'requests'>, dryRunResult: DryRunResult): Promise<DryRun> {
  const { projectId, stageId, rule } = dryRunResult;
  const yieldToEventLoop = createYield();
  const newest = await read.requests.newestOrdinal();
  const end = Math.max(0, newest - MAX);
  const result: DryRun = emptyDryRun();
  let oldest: string | null = null;
  const tools = toolsOf(rule);
  const text = textOf(rule);
  for (let to = newest; to > end; to -= SLICE) {
    await yieldToEventLoop();
    const range = { projectId, stageId, from: Math.max(end + 1, to - SLICE + 1), to };
    const counted = await read.requests.countAnswered(range);
    if (counted.count === 0) continue;
    result.waits += counted.count;
    oldest = counted.oldest ?? oldest;
    for (const toolName of tools) {
      for (const call of await read.requests.answeredCalls({ ...range, toolName, text })) {
        await yieldToEventLoop();
        count(result, call, dryRunResult);
      }
    }
  }
  return { ...result, since: end > 0 ? oldest : null };
}

const emptyDryRun = (): DryRun => ({
  waits: 0,
  answered: 0,
  waitedMs: 0,
  unsure: 0,
  wouldAllowDenied: [],
  denied: 0,
  since: null,
});

function toolsOf(rule: string): readonly string[] {
  const name = RULE.exec(rule.trim())?.[1] ?? '';
  return FAMILIES[name] ?? [name];
}

/** What the stored request of every call contains that the rule may cover; undefined where that is not known. */
function textOf(rule: string): string | undefined {
  const [, name, content = ''] = RULE.exec(rule.trim()) ?? [];
  const literal = name === 'Bash' ? content.replace(/:\*$/, '*').split('*', 1)[0]?.trimEnd() : '';
  return literal ? JSON.stringify(literal).slice(1, -1) : undefined;
}

function count(result: DryRun, call: AnsweredCall, { rule, others }: DryRunResult): void {
  if (call.isBarred) return;
  const found = ruleMatch(rule, call, others);
  if (found === 'no') return;
  if (found === 'unsure' || !call.isRulable) {
    result.unsure += 1;
    return;
  }
  result.answered += 1;
  result.waitedMs += call.waitedMs;
  if (call.outcome !== 'denied') return;
  result.denied += 1;
  const { stageId, requestId, stageTitle, asked, by, at, reason } = call;
  if (result.wouldAllowDenied.length < LISTED)
    result.wouldAllowDenied.push({ stageId, requestId, stageTitle, asked, by, at, reason });
}

/** The allow rules among these, as Claude Code writes them. */
export const allowRules = (rules: readonly PermissionRule[]): string[] =>
  rules.flatMap(({ kind, rule }) => (kind === 'allow' ? [rule] : []));
