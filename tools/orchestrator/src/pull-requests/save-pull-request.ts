import type { Finishing, PullRequest, Stage, StageId } from '@callboard/contract';
import { changeSession } from '../domain/change-session.ts';
import { addNotice } from '../domain/session-change.ts';
import { requireStage } from '../store/require.ts';
import type { Tx } from '../store/store.ts';

/** Changes what is stored of a stage's pull request. @returns the stage */
export async function changeStage(
  tx: Tx,
  stageId: StageId,
  change: (stage: Stage) => Partial<Pick<Stage, 'pullRequest' | 'finishing'>>,
): Promise<Stage> {
  const stage = await requireStage(tx, stageId);
  const changed = { ...stage, ...change(stage), updatedAt: tx.now };
  await tx.stages.update(changed);
  await tx.emit({ type: 'stage-updated', data: { stageId, stage: changed } });
  return changed;
}

/** Says something about the pull request in the transcript. */
export async function notify(tx: Tx, stageId: StageId, text: string): Promise<void> {
  if ((await tx.sessions.find(stageId)) === null) return;
  await changeSession(tx, stageId, (change) =>
    addNotice(change, tx.now, { level: 'info', code: 'pull-request', text }),
  );
}

/** Ends what is under way with this order; another one that began since stays. */
export const ended =
  (id: string, end: Partial<Finishing>) =>
  ({ finishing }: Stage): Pick<Stage, 'finishing'> => ({
    finishing: finishing?.order?.id === id ? { ...finishing, ...end } : finishing,
  });

/** Compares what matters to a person: not when it was told. */
export function isSame(a: PullRequest, b: PullRequest): boolean {
  const plain = (one: PullRequest) => JSON.stringify(Object.entries({ ...one, checkedAt: '' }).toSorted());
  return plain(a) === plain(b);
}

/** What is said in the transcript when a pull request has changed. */
export function updatesOf(before: PullRequest, now: PullRequest): string[] {
  const name = `Pull request #${now.number}`;
  const updates: string[] = [];
  if (now.state === 'closed' && before.state !== 'closed')
    updates.push(`${name} was closed without being merged. The work stays on ${now.branch}.`);
  if (now.checks === 'failing' && before.checks !== 'failing')
    updates.push(
      `Checks of ${name.toLowerCase()} fail${now.failing.length === 0 ? '' : `: ${now.failing.join(', ')}`}.`,
    );
  if ((now.unresolved ?? 0) > (before.unresolved ?? 0))
    updates.push(`${name} has ${now.unresolved} unresolved review ${now.unresolved === 1 ? 'comment' : 'comments'}.`);
  return updates;
}
