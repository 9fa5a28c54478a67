import { ProjectId, SearchKind, type SearchQuery } from '@callboard/contract';

const NAMES = ['q', 'project', 'kind', 'when'] as const;

/** A search as written in the URL. An empty value means all. */
export type SearchFilter = Record<(typeof NAMES)[number], string>;

const HOUR_MS = 3_600_000;
/** How far back each choice goes, in days. */
const DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30 };

export const WHEN_TEXTS: Readonly<Record<string, string>> = {
  day: 'Last 24 hours',
  week: 'Last 7 days',
  month: 'Last 30 days',
};

export function readSearch(params: URLSearchParams): SearchFilter {
  const filter: SearchFilter = { q: '', project: '', kind: '', when: '' };
  for (const name of NAMES) filter[name] = params.get(name) ?? '';
  return filter;
}

export const writeSearch = (filter: SearchFilter): URLSearchParams =>
  new URLSearchParams(NAMES.filter((name) => filter[name] !== '').map((name) => [name, filter[name]]));

/** Whether anything narrows the search. */
export const isNarrowed = ({ project, kind, when }: SearchFilter): boolean => project + kind + when !== '';

const MAX = 1_000;

/** Returns the server's query. Invalid values in the URL are left out. A time counts from a whole hour, so that it stays the same for a while. */
export function toSearchQuery({ q, project, kind, when }: SearchFilter, now: number): SearchQuery {
  const days = DAYS[when];
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
  return {
    q: q.slice(0, MAX),
    projectId: ProjectId.safeParse(project).data,
    kind: SearchKind.safeParse(kind).data,
    since: days === undefined ? undefined : new Date(hour - days * 24 * HOUR_MS).toISOString(),
    limit: 50,
  };
}
