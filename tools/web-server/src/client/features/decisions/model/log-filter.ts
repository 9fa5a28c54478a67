import {
  type DecisionFilter,
  DecisionSource,
  ProjectId,
  RequestKind,
  RequestOutcome,
  StageId,
} from '@callboard/contract';

const NAMES = ['project', 'stage', 'kind', 'outcome', 'source', 'who', 'from', 'to'] as const;

/** What of the decision log is shown, as it stands in the address; empty for all. `from` and `to` are days. */
export type LogFilter = Record<(typeof NAMES)[number], string>;

export const ALL: LogFilter = { project: '', stage: '', kind: '', outcome: '', source: '', who: '', from: '', to: '' };

export function readLogFilter(params: URLSearchParams): LogFilter {
  const filter = { ...ALL };
  for (const name of NAMES) filter[name] = params.get(name) ?? '';
  return filter;
}

/** The address's query with that filter. */
export function writeLogFilter(filter: LogFilter): URLSearchParams {
  return new URLSearchParams(NAMES.filter((name) => filter[name] !== '').map((name) => [name, filter[name]]));
}

/** How many of its parts say something. */
export const filterCount = (filter: LogFilter): number => NAMES.filter((name) => filter[name] !== '').length;

export const isFiltering = (filter: LogFilter): boolean => filterCount(filter) > 0;

/** What is asked of the server for it. What the address has and means nothing is left out. */
export function toQuery({ project, stage, kind, outcome, source, who, from, to }: LogFilter): DecisionFilter {
  return {
    projectId: ProjectId.safeParse(project).data,
    stageId: StageId.safeParse(stage).data,
    kind: RequestKind.safeParse(kind).data,
    outcome: RequestOutcome.safeParse(outcome).data,
    source: DecisionSource.safeParse(source).data,
    by: who === '' ? undefined : who,
    since: dayStart(from, 0),
    before: dayStart(to, 1),
  };
}

/** The beginning of a day of the reader's, or of one that many days later. */
function dayStart(day: string, later: number): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? [];
  if (year === undefined) return undefined;
  const start = new Date(Number(year), Number(month) - 1, Number(date) + later);
  return Number.isNaN(start.getTime()) ? undefined : start.toISOString();
}
