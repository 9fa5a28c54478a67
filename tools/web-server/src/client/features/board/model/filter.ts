import type { StageView } from '@callboard/contract';

/** The board's filter. It is part of the URL, so that it can be bookmarked and shared. */
export interface BoardFilter {
  project: string;
  epic: string;
  text: string;
}

const NAMES = ['project', 'epic', 'text'] as const;

export const readFilter = (params: URLSearchParams): BoardFilter => ({
  project: params.get('project') ?? '',
  epic: params.get('epic') ?? '',
  text: params.get('text') ?? '',
});

/** The URL's query with this filter. Other parameters stay. */
export function writeFilter(params: URLSearchParams, filter: BoardFilter): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const name of NAMES) {
    if (filter[name] === '') next.delete(name);
    else next.set(name, filter[name]);
  }
  return next;
}

export const isFiltering = (filter: BoardFilter): boolean => NAMES.some((name) => filter[name].trim() !== '');

export function matchesFilter(stage: StageView, { project, epic, text }: BoardFilter): boolean {
  if (project !== '' && stage.projectId !== project) return false;
  if (epic !== '' && !isOfEpic(stage.id, epic)) return false;
  const wanted = text.trim().toLowerCase();
  return wanted === '' || [stage.title, stage.id, stage.prompt].some((part) => part.toLowerCase().includes(wanted));
}

const isOfEpic = (id: string, epic: string) => id === epic || id.startsWith(`${epic}-`);

/** The epics of imported ids, their common prefixes: `STAGE-001` and `STAGE-001-002` of `STAGE-001-002-003`. */
export function epicsOf(stages: readonly Pick<StageView, 'id'>[]): string[] {
  const epics = new Set<string>();
  for (const { id } of stages) {
    const [, word, numbers] = /^([A-Za-z]\w*)((?:-\d+){2,})$/.exec(id) ?? [];
    const parts = numbers?.split('-').slice(1, -1) ?? [];
    for (let length = 1; length <= parts.length; length += 1) epics.add([word, ...parts.slice(0, length)].join('-'));
  }
  return [...epics].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}
