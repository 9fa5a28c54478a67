import { isReviewing, type SideRun, type SideRunKind, type StageReview } from '@callboard/contract';
import { requireStage } from '../store/require.ts';
import type { Tx } from '../store/store.ts';
import { addNotice, type Notice, type SessionChange } from './session-change.ts';

/** Stores a run and tells it; one for the session's phase is shown in the session as well. */
export async function setSideRun(tx: Tx, change: SessionChange, run: SideRun): Promise<void> {
  await tx.sideRuns.save(run);
  await tx.emit({ type: 'side-run-updated', data: run });
  if (run.phaseIndex === null || run.phaseIndex !== change.record.phaseIndex) return;
  const goesOnAt = run.state === 'waiting' ? (run.limitWait?.goesOnAt ?? null) : null;
  const review: StageReview = { runId: run.id, state: run.state, findings: run.findings, goesOnAt, since: tx.now };
  change.record = { ...change.record, review };
}

/** What Claude is asked, and for whom. */
export interface SideOrder {
  kind: SideRunKind;
  /** Null: Callboard, for a phase. */
  by: string | null;
  /** It is the work of the session's phase. */
  isOfPhase: boolean;
}

/** Makes a run due. It is begun when this is committed. */
export async function dueSideRun(tx: Tx, change: SessionChange, { kind, by, isOfPhase }: SideOrder): Promise<SideRun> {
  const { stageId, phaseIndex } = change.record;
  if (isOfPhase) change.record = { ...change.record, atGate: false, turnToFollow: false };
  const run: SideRun = {
    id: tx.newWireId(),
    stageId,
    kind,
    state: 'waiting',
    by,
    phaseIndex: isOfPhase ? phaseIndex : null,
    createdAt: tx.now,
    startedAt: null,
    endedAt: null,
    reason: null,
    diff: null,
    costUsd: null,
    summary: null,
    findings: 0,
    misplaced: [],
    text: null,
    limitWait: null,
  };
  await setSideRun(tx, change, run);
  return run;
}

/** Ends a run without a result. @param reason a whole sentence */
export async function giveUpSideRun(
  tx: Tx,
  change: SessionChange,
  run: SideRun,
  end: Pick<SideRun, 'state' | 'reason'> & { costUsd?: number | null },
): Promise<void> {
  await setSideRun(tx, change, { ...run, ...end, endedAt: tx.now });
  const what = run.kind === 'review' ? 'Claude’s review' : 'The text for the pull request';
  noteSideRun(tx, change, end.state === 'failed' ? 'error' : 'info', `${what} has no result: ${end.reason}`);
}

/** Stops the review of the session's phase if one is due or runs; whoever runs it ends its process. Returns whether there was one. */
export async function stopReview(tx: Tx, change: SessionChange, reason: string): Promise<boolean> {
  const { review } = change.record;
  if (review === null || !isReviewing(change.record)) return false;
  const run = await tx.sideRuns.find(review.runId);
  if (run !== null) await giveUpSideRun(tx, change, run, { state: 'stopped', reason });
  else change.record = { ...change.record, review: null };
  return true;
}

/**
 * Lets a person decide how the pipeline goes on after this run, if it is that of the phase. After the last phase the stage is in
 * review anyway.
 */
export async function waitForPerson(tx: Tx, change: SessionChange, { phaseIndex }: SideRun): Promise<void> {
  const { record } = change;
  if (phaseIndex === null || phaseIndex !== record.phaseIndex) return;
  const stage = await requireStage(tx, record.stageId);
  if (stage.pipeline[phaseIndex + 1] !== undefined) change.record = { ...record, atGate: true };
}

/** Adds a notice about a run to the transcript. */
export const noteSideRun = (tx: Tx, change: SessionChange, level: Notice['level'], text: string): void =>
  addNotice(change, tx.now, { level, code: 'review', text });
