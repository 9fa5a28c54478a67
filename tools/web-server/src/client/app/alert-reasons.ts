import {
  type Announcement,
  announcementPath,
  announcementsOf,
  type BoardView,
  finishedText,
  type Signal,
} from '@callboard/contract';
import { askTitle } from '../features/interaction/words/request-words.ts';
import { stoppedText } from '../lib/needs-you-words.ts';

/** Something to alert a person about while they look elsewhere. */
export interface Need {
  /** The same in every tab, and in what is pushed to a device. */
  key: string;
  signal: Signal;
  title: string;
  /** The page that shows it. */
  path: string;
  /** Null if it is about several stages. */
  stageId: Announcement['stageId'] | null;
}

export type Needs = ReadonlyMap<string, Need>;

type Seen = Pick<BoardView, 'stages' | 'pending' | 'unsettled'>;

/** Everything on the board that a person is told about, in words. */
export function alertReasons(view: Seen): Needs {
  const stages = new Map(view.stages.map((stage) => [stage.id, stage]));
  const requests = new Map(view.pending.map((request) => [`${request.stageId} ${request.requestId}`, request]));
  const needs = announcementsOf(view).map((announcement): [string, Need] => {
    const { key, signal, stageId, requestId } = announcement;
    const stage = stages.get(stageId);
    const request = requests.get(`${stageId} ${requestId}`);
    const name = stage?.title ?? stageId;
    const text = stage === undefined ? '' : signal === 'finished' ? finishedText(stage) : stoppedText(stage).text;
    const title = request === undefined ? `${name}: ${text}` : askTitle(request, name, stage?.worktree?.path ?? null);
    return [key, { key, signal, title, path: announcementPath(announcement), stageId }];
  });
  return new Map(needs);
}

/** More stages than this that change together (after a restart of Callboard, say) share one alert. */
const ONE_BY_ONE = 3;

const MANY: Readonly<Record<Signal, (count: number) => string>> = {
  waiting: (count) => `${count} stages need you`,
  failed: (count) => `${count} stages have failed`,
  finished: (count) => `${count} stages are finished`,
};

/** The reasons that are new since `before`. */
export function newAlertReasons(before: Needs, now: Needs): Need[] {
  const fresh = [...now.values()].filter(({ key }) => !before.has(key));
  const isRequest = ({ key }: Need) => key.startsWith('request ');
  const ofStages = (signal: Signal): Need[] => {
    const some = fresh.filter((need) => need.signal === signal && !isRequest(need));
    if (some.length <= ONE_BY_ONE) return some;
    const path = signal === 'finished' ? '/' : '/inbox';
    const key = some.map(({ key }) => key).join();
    return [{ key, signal, title: MANY[signal](some.length), path, stageId: null }];
  };
  return [...fresh.filter(isRequest), ...ofStages('waiting'), ...ofStages('failed'), ...ofStages('finished')];
}
