import type { PendingRequest, ProjectId, RequestId, RuleOffer, StageId } from '@callboard/contract';
import { exactRules } from '../agent/exact-rules.ts';
import type { ToolCall } from '../agent/rule-covers.ts';
import { hasPart, ruleMatch } from '../agent/rule-match.ts';
import { Rejection } from '../lib/errors.ts';
import type { StoredRequest } from '../store/ports/requests-table.ts';
import { requireStage } from '../store/require.ts';
import type { Tables } from '../store/store.ts';
import { allowRules } from './rehearse.ts';

/** After how many allowances a rule is offered, and after how many more once its offer was put away. */
const HABIT = 3;
const HABIT_AGAIN = 10;
/** How many of the newest requests are searched: an older habit is none. */
const NEWEST = 5_000;

type Read = Pick<Tables, 'requests' | 'rules' | 'stages'>;

/**
 * Returns exact rules for a request that people have allowed three times in its project and not denied since. Null where no rule
 * should be offered: Claude Code wants none, the command leaves the sandbox or reaches a path outside, or it has no exact rule.
 * @throws Rejection `unknown_stage`, `unknown_request`
 */
export async function ruleOffer(
  read: Read,
  { stageId, requestId }: { stageId: StageId; requestId: RequestId },
  at: string,
): Promise<RuleOffer | null> {
  const stored = await read.requests.find(stageId, requestId);
  if (stored === null) {
    throw new Rejection('unknown_request', `${stageId} has no request ${requestId}. It may belong to another stage.`);
  }
  const { projectId, worktree } = await requireStage(read, stageId);
  const wanted = mayBeRule(stored, worktree?.path ?? null) ? exactRules(stored.request) : null;
  if (wanted === null) return null;
  const known = allowRules(await read.rules.listFor(projectId, stageId, at));
  const rules = wanted.filter((rule) => !known.some((other) => ruleMatch(other, callOf(rule)) === 'yes'));
  if (rules.length === 0) return null;
  const times = Math.min(...(await Promise.all(rules.map((rule) => timesAllowed(read, projectId, rule)))));
  if (times < HABIT) return null;
  const dismissals = await read.rules.dismissals(projectId, rules);
  const isPutAway = rules.some((rule) => times < (dismissals.get(rule) ?? -HABIT_AGAIN) + HABIT_AGAIN);
  return isPutAway ? null : { projectId, stageId, rules, times };
}

const mayBeRule = ({ request, decision }: StoredRequest, worktree: string | null): boolean =>
  request.kind === 'approval' && isRulable(request, worktree) && (decision === null || decision.outcome === 'allowed');

const isRulable = (
  { suppressAlwaysAllow, leavesSandbox, blockedPath, suggestions }: PendingRequest,
  worktree: string | null,
): boolean =>
  !suppressAlwaysAllow &&
  leavesSandbox === null &&
  suggestions.length > 0 &&
  (blockedPath === null || (worktree !== null && `${blockedPath}/`.startsWith(`${worktree}/`)));

/** The call that an exact rule stands for. */
function callOf(rule: string): ToolCall {
  const [, toolName = rule, content = ''] = /^([^()]+)\((.*)\)$/s.exec(rule) ?? [];
  if (toolName === 'Bash') return { toolName, input: { command: content } };
  return { toolName, input: { url: `https://${content.replace(/^domain:/, '')}/` } };
}

/** How often people allowed what an exact rule stands for, since they last denied it. */
export async function timesAllowed(
  read: Pick<Tables, 'requests'>,
  projectId: ProjectId,
  rule: string,
): Promise<number> {
  const { toolName, input } = callOf(rule);
  const to = await read.requests.newestOrdinal();
  const text = textOf(toolName, input);
  const calls = await read.requests.answeredCalls({ projectId, from: Math.max(1, to - NEWEST), to, toolName, text });
  let times = 0;
  for (const call of calls) {
    if (!hasPart(rule, call)) continue;
    if (call.outcome === 'denied') break;
    if (call.outcome === 'allowed' && call.isRulable && !call.isBarred) times += 1;
  }
  return times;
}

/** What the stored request of such a call contains. */
function textOf(toolName: string, { command, url }: ToolCall['input']): string | undefined {
  if (toolName === 'Bash') return JSON.stringify(command).slice(1, -1);
  return toolName === 'WebFetch' && typeof url === 'string' ? new URL(url).hostname : undefined;
}
