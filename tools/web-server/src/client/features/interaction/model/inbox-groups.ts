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

/** Groups the requests, longest-waiting first. Equal requests form one group in the position of the oldest. */
export function inboxGroups(pending: readonly PendingRequest[]): InboxGroup[] {
  const groups: InboxGroup[] = [];
  for (const request of inOrder(pending)) {
    const group = groups.find(({ requests: [first] }) => first !== undefined && isEqual(first, request));
    if (group === undefined) groups.push({ key: requestKey(request), requests: [request], rule: null });
    else group.requests.push(request);
  }
  return groups.map((group) => ({ ...group, rule: commonRule(group.requests) }));
}

function isEqual(a: PendingRequest, b: PendingRequest): boolean {
  if (a.kind !== b.kind || a.toolName !== b.toolName) return false;
  if (!requestKinds[a.kind].canBeGrouped) return false;
  // A person must look at each command that leaves the sandbox separately.
  if (a.leavesSandbox !== null || b.leavesSandbox !== null) return false;
  if (sameInput(a, b)) return true;
  const rule = ruleOf(a);
  return rule !== null && rule === ruleOf(b);
}

/** Ignores the description, as Claude words it differently each time. */
function sameInput(a: PendingRequest, b: PendingRequest): boolean {
  const bare = ({ input: { description: _, ...input } }: PendingRequest) =>
    JSON.stringify(Object.entries(input).sort(([x], [y]) => x.localeCompare(y)));
  return bare(a) === bare(b);
}

function ruleOf(request: PendingRequest): string | null {
  const offer = alwaysAllowOffers(request).find(({ kind }) => kind === 'allow');
  return offer === undefined ? null : offer.rules.join(', ');
}

function commonRule(requests: readonly PendingRequest[]): string | null {
  const [first, ...rest] = requests;
  if (first === undefined || rest.every((other) => sameInput(first, other))) return null;
  return ruleOf(first);
}

/** Returns the row that follows a removed one: the next one after it, or else the last one before it. */
export function followerOf(before: readonly string[], gone: string, now: readonly string[]): string | undefined {
  const place = before.indexOf(gone);
  const stays = (key: string) => now.includes(key);
  return before.slice(place + 1).find(stays) ?? before.slice(0, Math.max(0, place)).findLast(stays) ?? now[0];
}
