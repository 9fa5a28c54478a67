import { checkAtGate, isMidTurn, type StageView } from '@callboard/contract';
import fuzzysort from 'fuzzysort';

/** Something that the palette finds. */
export interface Findable {
  /** Stays the same over reloads: recent ones are remembered by it. */
  id: string;
  label: string;
  group: 'Pages and actions' | 'Stages' | 'In prompts' | 'In comments' | 'In transcripts';
  /** Other words by which it is found, such as a stage's id and project. */
  words: string;
}

export interface Found<T extends Findable> {
  /** Null for the hits of a search, which are in the order of how well they fit. */
  title: string | null;
  entries: T[];
}

/** So many are drawn at most. */
const SHOWN = 50;
const REMEMBERED = 8;
/** How well a hit must fit, from 0 to 1: letters that are far from one another fit badly. */
const LOOSE = 0.2;
/** What was used lately fits a little better than what was not. */
const RECENT_BONUS = 0.05;

/** Finds entries by a few letters, in any order of words. Without letters: the recent ones, then all in their groups. */
export function findEntries<T extends Findable>(
  entries: readonly T[],
  query: string,
  recent: readonly string[],
): Found<T>[] {
  const wanted = query.trim();
  if (wanted === '') return inGroups(entries, recent);
  const hits = fuzzysort.go(wanted, entries, {
    keys: ['label', 'words'],
    limit: SHOWN,
    threshold: LOOSE,
    scoreFn: (hit) => hit.score + (hit.score > 0 && recent.includes(hit.obj.id) ? RECENT_BONUS : 0),
  });
  return hits.length === 0 ? [] : [{ title: null, entries: hits.map(({ obj }) => obj) }];
}

function inGroups<T extends Findable>(entries: readonly T[], recent: readonly string[]): Found<T>[] {
  const recentlyShown = recent.flatMap((id) => entries.find((entry) => entry.id === id) ?? []);
  const others = entries.filter((entry) => !recentlyShown.includes(entry));
  const groups = [
    { title: 'Recent', entries: recentlyShown },
    ...(['Pages and actions', 'Stages'] as const).map((title) => ({
      title,
      entries: others.filter(({ group }) => group === title),
    })),
  ];
  let room = SHOWN;
  return groups.flatMap(({ title, entries: all }) => {
    const shown = all.slice(0, room);
    room -= shown.length;
    return shown.length === 0 ? [] : [{ title, entries: shown }];
  });
}

/** The list of recent ones with one more, the newest first. */
export const withRecent = (recent: readonly string[], id: string): string[] =>
  [id, ...recent.filter((other) => other !== id)].slice(0, REMEMBERED);

/** What can be done with a stage from the palette. Nothing here is final: "Complete..." and "Delete..." ask first. */
export type StageAction =
  | 'open'
  | 'changes'
  | 'later'
  | 'call-again'
  | 'start'
  | 'hold'
  | 'release'
  | 'interrupt'
  | 'next-phase'
  | 'run-check'
  | 'accept'
  | 'complete'
  | 'reopen'
  | 'delete';

/** A stage's requests: whether one calls this person, and whether they set one aside. */
export interface Calls {
  calls: boolean;
  isAside: boolean;
}

/** The actions of a stage as it is now; the first one is what Enter does. */
export function stageActions(
  stage: StageView,
  { calls, isAside, paused }: Calls & { paused: boolean },
  canCommand: boolean,
): StageAction[] {
  const check: StageAction[] = stage.session === null ? ['open'] : ['open', 'changes'];
  if (!canCommand) return check;
  const later: StageAction[] = calls ? ['later'] : isAside ? ['call-again'] : [];
  const pause: StageAction[] = stage.completedAt !== null ? [] : paused ? ['release'] : ['hold'];
  return [...check, ...later, ...commandsOf(stage), ...pause, 'delete'];
}

function commandsOf({ session, completedAt }: StageView): StageAction[] {
  if (completedAt !== null) return ['reopen'];
  if (session === null) return ['start'];
  if (isMidTurn(session.state)) return ['interrupt'];
  if (session.state === 'starting') return [];
  if (checkAtGate({ session }) !== null) return ['run-check', 'accept', 'complete'];
  return session.atGate ? ['next-phase', 'complete'] : ['complete'];
}

export const ACTION_TEXTS: Readonly<Record<StageAction, string>> = {
  open: 'Open',
  changes: 'Open changes',
  later: 'Later',
  'call-again': 'Call me again',
  start: 'Start',
  hold: 'Hold',
  release: 'Release',
  interrupt: 'Interrupt',
  'next-phase': 'Start the next phase',
  'run-check': 'Run the check again',
  accept: 'Accept although the check did not pass',
  complete: 'Complete...',
  reopen: 'Reopen',
  delete: 'Delete...',
};
