import type { PendingRequest } from '@callboard/contract';
import { requestKey } from '../../../lib/request-text.ts';
import { requestKinds } from '../kinds/registry.ts';
import { alwaysAllowOffers } from './always-allow-offers.ts';
import { inOrder } from './overlay-queue.ts';

/** A single request, or several that ask for the same thing, so that a person can decide them together. */
export interface InboxGroup {
  key: string;
  /** The longest-waiting request comes first. */
  requests: PendingRequest[];
  /** The rule that covers all of them; null if they are the same call. */
  rule: string | null;
}

/**
 * Groups the requests, longest-waiting first. Equal requests form one group in the position of the oldest: the same tool, with the
 * same stakes and the same input, or under the same rule.
 * @param folderOf returns a stage's worktree: the same file in two worktrees is the same input
 */
export function inboxGroups(pending: readonly PendingRequest[], folderOf: FolderOf = nowhere): InboxGroup[] {
  const groups: (InboxGroup & { input: string })[] = [];
  const known = new Map<string, (typeof groups)[number]>();
  for (const request of inOrder(pending)) {
    const input = sameKey(request, folderOf(request.stageId));
    const rule = ruleOf(request);
    const keys = mayBeDecidedAsBatch(request) ? [input, ...(rule === null ? [] : [ruleKey(request, rule)])] : [];
    const group = keys.map((key) => known.get(key)).find((found) => found !== undefined);
    if (group !== undefined) {
      group.requests.push(request);
      if (group.input !== input) group.rule = rule;
      continue;
    }
    const own = { key: requestKey(request), requests: [request], rule: null, input };
    groups.push(own);
    for (const key of keys) known.set(key, own);
  }
  return groups.map(({ input: _, ...group }) => group);
}

type FolderOf = (stageId: PendingRequest['stageId']) => string | null;
const nowhere: FolderOf = () => null;

/** Whether it may be decided with others. A person looks at each command that leaves the sandbox separately. */
export const mayBeDecidedAsBatch = ({ kind, leavesSandbox }: PendingRequest): boolean =>
  requestKinds[kind].canBeGrouped && leavesSandbox === null;

/** Equal for equal requests. Ignores the description, as Claude words it differently each time, and where the worktree is. */
function sameKey(
  { kind, toolName, input: { description: _, ...input }, stakes }: PendingRequest,
  folder: string | null,
) {
  const entries = Object.entries(input).sort(([x], [y]) => x.localeCompare(y));
  const text = JSON.stringify([kind, toolName, entries, stakes.map(({ code, text }) => [code, text])]);
  if (folder === null) return text;
  const path = JSON.stringify(folder).slice(1, -1);
  // Not the beginning of a longer name: STAGE-1 is not where STAGE-10 is.
  return text.split(path).reduce((done, next) => `${done}${/^[\w.-]/.test(next) ? path : '.'}${next}`);
}

const ruleKey = ({ kind, toolName, stakes }: PendingRequest, rule: string): string =>
  JSON.stringify(['rule', kind, toolName, rule, stakes.map(({ code }) => code)]);

function ruleOf(request: PendingRequest): string | null {
  const offer = alwaysAllowOffers(request).find(({ kind }) => kind === 'allow');
  return offer === undefined ? null : offer.rules.join(', ');
}

/** Returns the row that follows a removed one: the next one after it, or else the last one before it. */
export function followerOf(before: readonly string[], gone: string, now: readonly string[]): string | undefined {
  const place = before.indexOf(gone);
  const stays = (key: string) => now.includes(key);
  return before.slice(place + 1).find(stays) ?? before.slice(0, Math.max(0, place)).findLast(stays) ?? now[0];
}
