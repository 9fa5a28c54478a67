import {
  type BoardView,
  type PendingRequest,
  RequestKind,
  RISK_TEXTS,
  RiskCode,
  type StageId,
  type StageView,
} from '@callboard/contract';
import { create } from 'zustand';
import { requestKey } from '../../lib/format.ts';
import { alwaysAllowOffers } from '../approvals/always-allow.tsx';
import { requestKinds } from '../approvals/kinds/registry.ts';
import { inOrder } from '../approvals/presentation.tsx';

/** A row of the inbox: a request, or a stage that needs a person but has no request. */
export type InboxItem =
  | { kind: 'request'; key: string; address: string; stageId: PendingRequest['stageId']; request: PendingRequest }
  | { kind: 'stage'; key: string; address: string; stageId: StageView['id']; stage: StageView };

interface Rows {
  requests: readonly PendingRequest[];
  stopped: readonly StageView[];
}

/** Returns the inbox's rows. Requests come first, as Claude waits for them. */
export function inboxItems({ requests, stopped }: Rows, filter: InboxFilter): InboxItem[] {
  const address = (name: InboxItem['kind'], key: string) => inboxAddress(filter, { name, key });
  return [
    ...requests.map((request): InboxItem => {
      const key = requestKey(request);
      return { kind: 'request', key, address: address('request', key), stageId: request.stageId, request };
    }),
    ...stopped.map((stage): InboxItem => {
      const key = String(stage.id); // without a slash, unlike the key of a request
      return { kind: 'stage', key, address: address('stage', key), stageId: stage.id, stage };
    }),
  ];
}

/** Returns the key of the row that the URL names; null if it names none. */
export const wantedKey = (params: URLSearchParams): string | null => params.get('request') ?? params.get('stage');

/** What the inbox shows. It is part of the address; empty: everything. */
export interface InboxFilter {
  project: string;
  /** A kind of request, or `STOPPED`. */
  kind: string;
  /** Something at risk, or `NOTHING_KNOWN`. */
  risk: string;
}

const STOPPED = 'stopped';
const NOTHING_CACHED = 'none';
const NAMES = ['project', 'kind', 'risk'] as const;

export const readInboxFilter = (params: URLSearchParams): InboxFilter => ({
  project: params.get('project') ?? '',
  kind: params.get('kind') ?? '',
  risk: params.get('risk') ?? '',
});

export const isInboxFiltered = (filter: InboxFilter): boolean => NAMES.some((name) => filter[name] !== '');

/** Returns the inbox's address with this filter and, optionally, a selected row. */
export function inboxAddress(filter: InboxFilter, row?: { name: string; key: string }): string {
  const params = new URLSearchParams(NAMES.flatMap((name) => (filter[name] === '' ? [] : [[name, filter[name]]])));
  if (row !== undefined) params.set(row.name, row.key);
  return params.size === 0 ? '/inbox' : `/inbox?${params}`;
}

/** What the filter looks at in a row. A stopped stage has no risks. */
export interface Filtered {
  project: string;
  kind: string;
  risks: readonly string[] | null;
}

export const ofRequest = ({ kind, stakes }: PendingRequest, project: string): Filtered => ({
  project,
  kind,
  risks: stakes.length === 0 ? [NOTHING_CACHED] : stakes.map(({ code }) => code),
});

export const ofStopped = (project: string): Filtered => ({ project, kind: STOPPED, risks: null });

export const matchesInbox = (row: Filtered, { project, kind, risk }: InboxFilter): boolean =>
  (project === '' || row.project === project) &&
  (kind === '' || row.kind === kind) &&
  (risk === '' || row.risks?.includes(risk) === true);

/** A value of one part of the filter, and how many rows it would show beside the rest of the filter. */
export interface FilterChoice {
  value: string;
  label: string;
  count: number;
}

interface Choosing {
  rows: readonly Filtered[];
  filter: InboxFilter;
  projects: readonly { id: string; name: string }[];
}

/** Returns what can be chosen for one part: what occurs, and what is chosen now. */
export function inboxChoices(name: keyof InboxFilter, { rows, filter, projects }: Choosing): FilterChoice[] {
  const others = rows.filter((row) => matchesInbox(row, { ...filter, [name]: '' }));
  const valuesOf = (row: Filtered): readonly string[] => (name === 'risk' ? [...new Set(row.risks)] : [row[name]]);
  const counts = new Map<string, number>();
  for (const value of others.flatMap(valuesOf)) counts.set(value, (counts.get(value) ?? 0) + 1);
  return namesOf(name, projects)
    .map(({ value, label }) => ({ value, label, count: counts.get(value) ?? 0 }))
    .filter(({ value, count }) => count > 0 || value === filter[name]);
}

function namesOf(name: keyof InboxFilter, projects: Choosing['projects']): { value: string; label: string }[] {
  switch (name) {
    case 'project':
      return projects.map((project) => ({ value: project.id, label: project.name }));
    case 'kind':
      return [
        ...RequestKind.options.map((kind) => ({ value: kind, label: requestKinds[kind].name })),
        { value: STOPPED, label: 'Stopped stage' },
      ];
    case 'risk':
      return [
        ...RiskCode.options.map((code) => ({ value: code, label: capitalised(RISK_TEXTS[code]) })),
        { value: NOTHING_CACHED, label: 'Nothing known' },
      ];
    default:
      return name satisfies never;
  }
}

const capitalised = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

/** What the inbox tells of each stage. */
export interface InboxPosition {
  title: string;
  projectId: string;
  project: string | undefined;
  /** The stage's worktree; null while there is none. */
  folder: string | null;
}
export type InboxPositions = Readonly<Record<StageId, InboxPosition>>;

/** Returns what the inbox tells of each stage, read once for all rows. */
export function inboxPositions({ stages, projects }: BoardView): InboxPositions {
  const names = new Map(projects.map(({ id, name }) => [id, name]));
  return Object.fromEntries(
    stages.map(({ id, title, projectId, worktree }) => [
      id,
      { title, projectId, project: names.get(projectId), folder: worktree?.path ?? null },
    ]),
  );
}

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

/** The requests that a person picked in the inbox, to decide them together, by their keys. */
interface InboxPicks {
  picked: ReadonlySet<string>;
  /** Those that were drawn where the person could look at them, for long enough. */
  looked: ReadonlySet<string>;
  /** Whether the rows show their boxes although nothing is picked yet. */
  isPicking: boolean;
  toggle(keys: readonly string[]): void;
  clear(): void;
  check(key: string): void;
  startPicking(): void;
}

export const useInboxPicks = create<InboxPicks>((set) => ({
  picked: new Set(),
  looked: new Set(),
  isPicking: false,
  /** Takes all of them out if all are in, else puts all in. */
  toggle: (keys) =>
    set(({ picked }) => {
      const isAll = keys.every((key) => picked.has(key));
      return { picked: new Set(isAll ? [...picked].filter((key) => !keys.includes(key)) : [...picked, ...keys]) };
    }),
  clear: () => set({ picked: new Set(), isPicking: false }),
  check: (key) => set(({ looked }) => (looked.has(key) ? { looked } : { looked: new Set([...looked, key]) })),
  startPicking: () => set({ isPicking: true }),
}));
