import type { StageView } from '@callboard/contract';
import { ownGroups } from '../../../lib/own-groups.ts';

/** The board's filter. It is part of the URL, so that it can be bookmarked and shared. */
export interface BoardFilter {
  project: string;
  group: string;
  text: string;
}

const NAMES = ['project', 'group', 'text'] as const;
/** The name of `group` in addresses of earlier versions. */
const EPIC = 'epic';

export const readFilter = (params: URLSearchParams): BoardFilter => ({
  project: params.get('project') ?? '',
  group: params.get('group') ?? params.get(EPIC) ?? '',
  text: params.get('text') ?? '',
});

/** The URL's query with this filter. Other parameters stay. */
export function writeFilter(params: URLSearchParams, filter: BoardFilter): URLSearchParams {
  const next = new URLSearchParams(params);
  next.delete(EPIC);
  for (const name of NAMES) {
    if (filter[name] === '') next.delete(name);
    else next.set(name, filter[name]);
  }
  return next;
}

export const isFiltering = (filter: BoardFilter): boolean => NAMES.some((name) => filter[name].trim() !== '');

export function matchesFilter(stage: StageView, { project, group, text }: BoardFilter): boolean {
  if (project !== '' && stage.projectId !== project) return false;
  if (group !== '' && stage.group !== group && !isOfEpic(stage.id, group)) return false;
  const wanted = text.trim().toLowerCase();
  return wanted === '' || [stage.title, stage.id, stage.prompt].some((part) => part.toLowerCase().includes(wanted));
}

const isOfEpic = (id: string, epic: string) => id === epic || id.startsWith(`${epic}-`);

/** What the stages can be filtered by: the groups that people gave them, and the common prefixes of imported ids. */
export function groupsOf(stages: readonly StageView[]): string[] {
  const own = ownGroups({ stages: [...stages] });
  return [...own, ...epicsOf(stages).filter((epic) => !own.includes(epic))];
}

/** The epics of imported ids, their common prefixes: `STAGE-001` and `STAGE-001-002` of `STAGE-001-002-003`. */
function epicsOf(stages: readonly Pick<StageView, 'id'>[]): string[] {
  const epics = new Set<string>();
  for (const { id } of stages) {
    const [, word, numbers] = /^([A-Za-z]\w*)((?:-\d+){2,})$/.exec(id) ?? [];
    const parts = numbers?.split('-').slice(1, -1) ?? [];
    for (let length = 1; length <= parts.length; length += 1) epics.add([word, ...parts.slice(0, length)].join('-'));
  }
  return [...epics].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}
