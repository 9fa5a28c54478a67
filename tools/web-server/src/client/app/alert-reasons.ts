import type { BoardView } from '@callboard/contract';
import { askTitle } from '../features/interaction/words/request-words.ts';
import { stoppedWords } from '../lib/needs-you-words.ts';
import { requestKey } from '../lib/request-text.ts';
import { stoppedStages } from '../lib/stages-needing-you.ts';

/** Something to alert a person about while no tab of Callboard is visible. */
export interface Need {
  /** The same in every tab. */
  key: string;
  title: string;
}

export type Needs = ReadonlyMap<string, Need>;

type Seen = Pick<BoardView, 'stages' | 'pending' | 'unsettled'>;

const keyOf = (stageId: string) => `stopped ${stageId}`;

/** Everything that needs a person: each request, and each stage that stopped without one. */
export function alertReasons(view: Seen): Needs {
  const stages = new Map(view.stages.map((stage) => [stage.id, stage]));
  const requests = view.pending.map((request) => {
    const stage = stages.get(request.stageId);
    const title = askTitle(request, stage?.title ?? request.stageId, stage?.worktree?.path ?? null);
    return { key: requestKey(request), title };
  });
  const stopped = stoppedStages(view).map((stage) => ({
    key: keyOf(stage.id),
    title: `${stage.title}: ${stoppedWords(stage).text}`,
  }));
  return new Map([...requests, ...stopped].map((need) => [need.key, need]));
}

/** More stages than this that stop together (after a restart of Callboard, say) share one alert. */
const ONE_BY_ONE = 3;

/** The reasons that are new since `before`. */
export function newAlertReasons(before: Needs, now: Needs): Need[] {
  const fresh = [...now.values()].filter(({ key }) => !before.has(key));
  const stopped = fresh.filter(({ key }) => key.startsWith(keyOf('')));
  if (stopped.length <= ONE_BY_ONE) return fresh;
  const all = { key: stopped.map(({ key }) => key).join(), title: `${stopped.length} stages need you` };
  return [...fresh.filter((need) => !stopped.includes(need)), all];
}
