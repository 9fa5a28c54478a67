import {
  type DecisionFilter,
  DecisionSource,
  ProjectId,
  RequestKind,
  RequestOutcome,
  StageId,
} from '@callboard/contract';

const NAMES = ['project', 'stage', 'kind', 'outcome', 'source', 'who', 'device', 'from', 'to'] as const;

/** The filter of the decision log as written in the URL. An empty value means all. `from` and `to` are days. */
export type LogFilter = Record<(typeof NAMES)[number], string>;

export const ALL: LogFilter = {
  project: '',
  stage: '',
  kind: '',
  outcome: '',
  source: '',
  who: '',
  device: '',
  from: '',
  to: '',
};

export function readLogFilter(params: URLSearchParams): LogFilter {
  const filter = { ...ALL };
  for (const name of NAMES) filter[name] = params.get(name) ?? '';
  return filter;
}

/** Returns the URL query for a filter. */
export function writeLogFilter(filter: LogFilter): URLSearchParams {
  return new URLSearchParams(NAMES.filter((name) => filter[name] !== '').map((name) => [name, filter[name]]));
}

/** Returns how many values of the filter are set. */
export const filterCount = (filter: LogFilter): number => NAMES.filter((name) => filter[name] !== '').length;

export const isFiltering = (filter: LogFilter): boolean => filterCount(filter) > 0;

/** Returns the server's query for a filter. Invalid values in the URL are left out. */
export function toQuery({ project, stage, kind, outcome, source, who, device, from, to }: LogFilter): DecisionFilter {
  return {
    projectId: ProjectId.safeParse(project).data,
    stageId: StageId.safeParse(stage).data,
    kind: RequestKind.safeParse(kind).data,
    outcome: RequestOutcome.safeParse(outcome).data,
    source: DecisionSource.safeParse(source).data,
    by: who === '' ? undefined : who,
    device: device === '' ? undefined : device,
    since: dayStart(from, 0),
    before: dayStart(to, 1),
  };
}

/** Returns the start of a day in local time, `later` days after `day`. */
function dayStart(day: string, later: number): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? [];
  if (year === undefined) return undefined;
  const start = new Date(Number(year), Number(month) - 1, Number(date) + later);
  return Number.isNaN(start.getTime()) ? undefined : start.toISOString();
}
