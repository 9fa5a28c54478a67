import {
  type BoardView,
  type PendingRequest,
  RequestKind,
  RISK_TEXTS,
  RiskCode,
  type StageId,
} from '@callboard/contract';
import { requestKinds } from '../kinds/registry.ts';

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
