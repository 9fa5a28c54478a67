import { z } from 'zod';
import { Signal } from './alerts.ts';
import type { PendingRequest } from './approvals.ts';
import type { BoardView } from './board.ts';
import { hasFailed } from './checks.ts';
import { RequestId, StageId } from './ids.ts';
import { hasReviewFailed } from './review.ts';
import type { StageView } from './stages.ts';

/** Something that a person is told about once: a request, a stage that cannot go on, a stage that is finished. */
export const Announcement = z.object({
  /** The same wherever it is derived; a stage that fails again has another one. */
  key: z.string(),
  signal: Signal,
  stageId: StageId,
  /** Null if it is about the stage, not about one request. */
  requestId: RequestId.nullable(),
  /** Since when this is so. */
  since: z.iso.datetime(),
});
export type Announcement = z.infer<typeof Announcement>;

/** Whether a stage that needs a person without a request has failed; otherwise it waits for something that only a person can do. */
function hasStageFailed({ session }: StageView): boolean {
  if (session === null || session.alarm !== null) return false;
  const { atGate, check, review, lastTurn } = session;
  if (atGate && check !== null && check.state !== 'passed') return hasFailed(check);
  if (review !== null && hasReviewFailed(review)) return true;
  if (atGate || session.stalledSince !== null) return false;
  if (lastTurn?.code === 'not-logged-in' || lastTurn?.code === 'settings-not-agreed') return false;
  return session.state === 'failed' || lastTurn?.outcome === 'failed';
}

/** When the stage came to need a person or to be ready. The end of an idle process does not change it. */
function sinceOf({ session, createdAt }: StageView): string {
  if (session === null) return createdAt;
  const { alarm, stalledSince, atGate, check, review, state, stateSince, lastTurn } = session;
  if (alarm !== null) return alarm.at;
  if (stalledSince !== null) return stalledSince;
  if (atGate && check !== null && check.state !== 'passed') return check.since;
  if (review !== null && hasReviewFailed(review)) return review.since;
  return state === 'failed' || lastTurn === null ? stateSince : lastTurn.at;
}

function ofStage(signal: Signal, stage: StageView, since = sinceOf(stage)): Announcement {
  return { key: `${signal} ${stage.id} ${since}`, signal, stageId: stage.id, requestId: null, since };
}

/**
 * Since when a stage is finished: ready for review, or merged without a person. Null if it is not, or a person completed it. What Callboard
 * merges after a turn is told once, whether it is noticed before or after the merge.
 */
function finishedSince(stage: StageView): string | null {
  const { column, completedAt, finishing, merged, session } = stage;
  if (column === 'review') return sinceOf(stage);
  if (completedAt === null) return null;
  const turn = finishing?.way === 'merge' && finishing.state !== 'refused' ? finishing.turn : null;
  if (turn !== null && turn === session?.lastTurn?.at) return turn;
  return merged?.pullRequest != null && merged.at === completedAt ? completedAt : null;
}

/** Returns what a stage that is finished is now, in words. */
export function finishedText({ completedAt, finishing }: Pick<StageView, 'completedAt' | 'finishing'>): string {
  if (completedAt !== null) return 'merged and done';
  return finishing?.state === 'under-way' && finishing.turn !== null ? 'finished' : 'ready for review';
}

/** Returns everything on the board that people are told about: requests, stages that need a person without one, finished stages. */
export function announcementsOf(view: Pick<BoardView, 'stages' | 'pending' | 'unsettled'>): Announcement[] {
  const requests = view.pending.map(({ stageId, requestId, createdAt: since }): Announcement => {
    return { key: `request ${stageId} ${requestId}`, signal: 'waiting', stageId, requestId, since };
  });
  const stopped = stoppedStages(view).map((stage) => ofStage(hasStageFailed(stage) ? 'failed' : 'waiting', stage));
  const finished = view.stages.flatMap((stage) => {
    const since = finishedSince(stage);
    return since === null ? [] : [ofStage('finished', stage, since)];
  });
  return [...requests, ...stopped, ...finished];
}

/** Nobody has read a request that was there for less: that it is gone needs no notice. */
export const UNREAD_MS = 2_000;

/**
 * Whether a request may be gone again before anybody could read it, so that it is signalled only once it has stood for `UNREAD_MS`: many
 * commands look a host up and go on without it.
 */
export const mayPass = ({ kind }: Pick<PendingRequest, 'kind'>): boolean => kind === 'network';

/** The page on which a person sees what an announcement is about, and can answer it. */
export function announcementPath({ stageId, requestId }: Pick<Announcement, 'stageId' | 'requestId'>): string {
  if (requestId === null) return `/stages/${encodeURIComponent(stageId)}`;
  return `/inbox?${new URLSearchParams({ request: `${stageId}/${requestId}` })}`;
}

type Needy = Pick<BoardView, 'stages' | 'pending' | 'unsettled'>;

/**
 * The stages that need a person: all in the column Needs you, and any other one with an alarm, a request or an answer of
 * unknown delivery (a stage that was completed meanwhile). The column, the badge, the bell, the tab's title and its
 * icon all count these.
 */
export function stagesNeedingYou({ stages, pending, unsettled }: Needy): StageView[] {
  const asking = new Set([...pending, ...unsettled].map(({ stageId }) => stageId));
  return stages.filter((stage) => stage.column === 'needs-you' || stage.session?.alarm != null || asking.has(stage.id));
}

export const needsYouCount = (view: Needy): number => stagesNeedingYou(view).length;

/** Those without a request, longest waiting first: failed, interrupted, silent, or at the end of a phase. */
export function stoppedStages(view: Needy): StageView[] {
  const asking = new Set([...view.pending, ...view.unsettled].map(({ stageId }) => stageId));
  return stagesNeedingYou(view)
    .filter((stage) => !asking.has(stage.id))
    .sort((a, b) => waitingSince(a).localeCompare(waitingSince(b)));
}

/** Since when a stage without a request waits for a person. */
export const waitingSince = ({ session, createdAt }: StageView): string =>
  session?.stalledSince ?? session?.stateSince ?? createdAt;
