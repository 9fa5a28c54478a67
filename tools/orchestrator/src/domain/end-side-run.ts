import { CommentId, type ReviewFinding, type SideRun } from '@callboard/contract';
import type { LimitRefusal } from '../agent/agent-event.ts';
import type { CommentRecord } from '../store/records.ts';
import { requireStage } from '../store/require.ts';
import type { Tx } from '../store/store.ts';
import { passGate } from './pipeline.ts';
import { sendComments } from './review-comments.ts';
import type { SessionChange } from './session-change.ts';
import { giveUpSideRun, noteSideRun, setSideRun, waitForPerson } from './side-runs.ts';
import { spend } from './spending.ts';
import { knownRefusal, plannedWait, resumesAutomatically, triesAfter } from './usage-limits.ts';

/** How a run ended. Its comments belong to the stage, and get their stored form here. */
export type SideRunEnd = {
  costUsd: number | null;
} /** `limit`: a usage limit of the account refused it; null fields if it did not say which. */ & (
  | { state: 'failed' | 'timed-out' | 'stopped'; reason: string; limit?: LimitRefusal }
  | {
      state: 'done';
      summary: string | null;
      comments: readonly FoundComment[];
      misplaced: SideRun['misplaced'];
      text: SideRun['text'];
    }
);

/** A finding at its lines. */
export type FoundComment = Pick<ReviewFinding, 'path' | 'side' | 'line' | 'severity' | 'text'> &
  Pick<CommentRecord, 'endLine' | 'version' | 'quote'>;

/**
 * Stores the result of a run, its comments, its cost, and what follows for the phase. Does nothing if it was stopped meanwhile. All
 * of it is one transaction, so that nothing is doubled when it is told again.
 */
export async function endSideRun(tx: Tx, change: SessionChange, id: string, end: SideRunEnd): Promise<void> {
  const run = await tx.sideRuns.find(id);
  if (run === null || run.state !== 'running') return;
  await spend(tx, change, { usd: end.costUsd ?? 0, tokens: 0 });
  const isOfPhase = run.phaseIndex !== null && run.phaseIndex === change.record.phaseIndex;
  if (end.state !== 'done') {
    const { limit, ...given } = end;
    if (limit !== undefined && (await waitForReset(tx, change, run, limit))) return;
    await giveUpSideRun(tx, change, run, given);
    return waitForPerson(tx, change, run);
  }
  const { summary, misplaced, text } = end;
  const findings = await addComments(tx, run, end.comments);
  const done: SideRun = {
    ...run,
    state: 'done',
    endedAt: tx.now,
    costUsd: end.costUsd,
    findings,
    summary,
    misplaced,
    text,
  };
  await setSideRun(tx, change, done);
  noteSideRun(tx, change, 'info', doneText(done));
  if (isOfPhase) await followReview(tx, change, done);
}

/**
 * Lets the review of the session's phase run again once the limit has reset, if its stage goes on by itself then. What a person asked
 * for fails instead: they are told, and try again when they like.
 */
async function waitForReset(tx: Tx, change: SessionChange, run: SideRun, limit: LimitRefusal): Promise<boolean> {
  if (run.phaseIndex === null || run.phaseIndex !== change.record.phaseIndex) return false;
  if (!(await resumesAutomatically(tx, await requireStage(tx, run.stageId)))) return false;
  const { window, resetsAt } = limit.resetsAt === null ? await knownRefusal(tx) : limit;
  const tries = triesAfter(tx, resetsAt, run.limitWait?.tries ?? 0);
  const { goesOnAt } = plannedWait(tx, { since: tx.now, window, resetsAt, goesOnAt: null }, tries);
  if (goesOnAt === null) return false;
  const limitWait = { window, resetsAt, goesOnAt, tries };
  await setSideRun(tx, change, { ...run, state: 'waiting', startedAt: null, limitWait });
  noteSideRun(
    tx,
    change,
    'info',
    'A usage limit of the account was reached. Claude’s review runs again once it has reset.',
  );
  return true;
}

/** Adds the findings as comments that everybody sees. A finding that stands there already is not added again. */
async function addComments(tx: Tx, run: SideRun, found: readonly FoundComment[]): Promise<number> {
  const known = await tx.comments.listOf(run.stageId);
  const isKnown = ({ path, side, line, text }: FoundComment) =>
    known.some(
      (one) => one.isFinding && one.path === path && one.side === side && one.line === line && one.text === text,
    );
  for (const [at, comment] of found.entries()) {
    if (isKnown(comment)) continue;
    const { line, endLine, version } = comment;
    await tx.comments.save({
      ...comment,
      id: CommentId.parse(`${run.id}-${at + 1}`),
      stageId: run.stageId,
      author: 'Claude',
      isFinding: true,
      origin: { line, endLine, version },
      hasMoved: false,
      createdAt: tx.now,
      sentAt: null,
      sentBy: null,
      messageId: null,
      answeredAt: null,
    });
  }
  if (found.length > 0) await sendComments(tx, run.stageId);
  return found.length;
}

/** With findings, or with a gate, a person decides; otherwise the next phase begins once nothing else is to do. */
async function followReview(tx: Tx, change: SessionChange, run: SideRun): Promise<void> {
  const { stageId } = run;
  const stage = await requireStage(tx, stageId);
  await storeAsResult(tx, run);
  if (run.findings + run.misplaced.length > 0) await waitForPerson(tx, change, run);
  else if ((await tx.outbox.countQueued(stageId)) === 0) await passGate(tx, change, stage);
}

/** The verdict is what templates of the next phase get as `{{previous.result}}`. */
async function storeAsResult(tx: Tx, run: SideRun): Promise<void> {
  const phase = await tx.phaseRuns.newest(run.stageId);
  if (phase === null || phase.phaseIndex !== run.phaseIndex) return;
  await tx.phaseRuns.setNewest({ ...phase, result: run.summary ?? '', endedAt: tx.now });
}

function doneText({ kind, findings, misplaced, summary }: SideRun): string {
  if (kind === 'pull-request') return 'Claude wrote a title and a text for the pull request.';
  const found = findings === 0 ? 'nothing to change' : findings === 1 ? '1 thing' : `${findings} things`;
  const left = misplaced.length === 0 ? '' : ` ${misplaced.length} more name lines that the changes do not have.`;
  return `Claude’s review found ${found}.${left}${summary === null || summary === '' ? '' : ` ${summary}`}`;
}

/** Settles a run that was under way when Callboard ended: nobody knows its answer. A person runs it again. */
export async function interruptSideRun(tx: Tx, change: SessionChange, run: SideRun): Promise<void> {
  await giveUpSideRun(tx, change, run, {
    state: 'interrupted',
    reason: 'It was interrupted by a restart of Callboard. Run it again.',
  });
  await waitForPerson(tx, change, run);
}
