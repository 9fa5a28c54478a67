import { isActive, ObjectId, type PullRequest, type Stage, type StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Merged, Worktrees } from '../worktrees/worktrees.ts';
import type { CodeHost } from './hosts/code-host.ts';
import { Refusal } from './refusal.ts';
import { changeStage, isSame, newsOf, tell } from './save-pull-request.ts';
import { locateStage, requireHost, type StageHostParts } from './stage-host.ts';

export interface LookParts extends StageHostParts {
  worktrees: Pick<Worktrees, 'planPush' | 'gitSettings' | 'mergedThere'>;
  /** Marks the stage done. @throws Rejection as `StageCompletion.mergedElsewhere` */
  complete: (stageId: StageId, merged: Merged, actor: string) => Promise<void>;
}

export type Looked = 'changed' | 'same' | 'failed';

const HOST_NAMES = { github: 'GitHub', gitlab: 'GitLab' } as const;

/** Returns the stage's pull request. @throws Rejection `no_pull_request` */
export async function requirePullRequest({ store }: Pick<LookParts, 'store'>, stageId: StageId): Promise<PullRequest> {
  const { pullRequest, title } = await requireStage(store.read, stageId);
  if (pullRequest === null) throw new Rejection('no_pull_request', `${title} has no pull request. Open one first.`);
  return pullRequest;
}

/**
 * Asks the code host about a stage's pull request, and stores what has changed. That it could not be asked is stored as well.
 * @param isOrdered a person asked for it: then the time is stored even if nothing has changed
 */
export async function lookAtPullRequest(
  parts: LookParts,
  stageId: StageId,
  isOrdered: boolean,
  signal: AbortSignal,
): Promise<Looked> {
  const before = await requirePullRequest(parts, stageId);
  try {
    const host = requireHost(await locateStage(parts, stageId, signal));
    const told = await askHost(host, before, signal);
    return await keep(parts, stageId, { ...told, stale: null }, isOrdered);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Rejection)) throw error;
    const stale = error.message.split('\n')[0] ?? error.message;
    await keep(parts, stageId, { ...before, stale }, false);
    return 'failed';
  }
}

async function askHost(
  host: CodeHost,
  before: PullRequest,
  signal: AbortSignal,
): Promise<Omit<PullRequest, 'checkedAt' | 'isSettled' | 'stale'>> {
  const told = await host.read(before.number, signal);
  const unresolved = await host.countUnresolved(before.number, signal).catch((error: unknown) => {
    if (error instanceof Refusal) return null; // the rest is known
    throw error;
  });
  return { ...told, host: host.kind, unresolved };
}

async function keep(
  { store }: LookParts,
  stageId: StageId,
  told: Omit<PullRequest, 'checkedAt' | 'isSettled'>,
  isOrdered: boolean,
): Promise<Looked> {
  return store.transact(async (tx) => {
    const { pullRequest: before } = await requireStage(tx, stageId);
    if (before === null || before.number !== told.number) return 'same'; // another one has been opened since
    const isStale = told.stale !== null;
    const now = { ...told, checkedAt: isStale ? before.checkedAt : tx.now, isSettled: before.isSettled };
    const same = isSame(before, now);
    if (same && !isOrdered) return 'same';
    await changeStage(tx, stageId, () => ({ pullRequest: now }));
    for (const words of newsOf(before, now)) await tell(tx, stageId, words);
    return same ? 'same' : 'changed';
  });
}

/**
 * Completes a stage whose pull request was merged, once. Does nothing while Claude works on it, or if the stage has work that was
 * not merged: then it only says so.
 */
export async function settleMerged(parts: LookParts, stageId: StageId): Promise<void> {
  const { store, worktrees, complete } = parts;
  const stage = await store.read.stages.find(stageId);
  if (stage === null || !isMergedUnsettled(stage)) return;
  const session = await store.read.sessions.find(stageId);
  if (session !== null && isActive(session.state)) return;
  const { pullRequest, worktree, merged } = stage;
  if (pullRequest === null) return;
  const { number, head, mergeCommit, base } = pullRequest;
  if (worktree !== null && merged === null) {
    const project = await requireProject(store.read, stage.projectId);
    const commit = [mergeCommit, head, worktree.base].find((id) => ObjectId.safeParse(id).success) ?? worktree.base;
    const there = await worktrees.mergedThere(project, worktree, { number, head, commit, into: base });
    if (there.hasMore) return settled(parts, stageId, moreWords(number, base));
    await complete(stageId, there.merged, HOST_NAMES[pullRequest.host]);
  }
  await settled(parts, stageId, null);
}

export const isMergedUnsettled = ({ pullRequest }: Pick<Stage, 'pullRequest'>): boolean =>
  pullRequest?.state === 'merged' && !pullRequest.isSettled;

const moreWords = (number: number, base: string): string =>
  `Pull request #${number} was merged into ${base}, but this stage has newer work that is not in it. Open another one, or complete the stage.`;

async function settled({ store }: LookParts, stageId: StageId, words: string | null): Promise<void> {
  await store.transact(async (tx) => {
    await changeStage(tx, stageId, ({ pullRequest }) => ({
      pullRequest: pullRequest === null ? null : { ...pullRequest, isSettled: true },
    }));
    if (words !== null) await tell(tx, stageId, words);
  });
}
