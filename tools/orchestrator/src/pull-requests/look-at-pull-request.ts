import { isActive, ObjectId, type PullRequest, type Stage, type StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Merged, Worktrees } from '../worktrees/worktrees.ts';
import type { CodeHost } from './hosts/code-host.ts';
import { Refusal } from './refusal.ts';
import { changeStage, isSame, notify, updatesOf } from './save-pull-request.ts';
import { locateStage, requireHost, type StageHostDeps } from './stage-host.ts';

export interface CheckDeps extends StageHostDeps {
  worktrees: Pick<Worktrees, 'planPush' | 'gitSettings' | 'mergedThere'>;
  /** Marks the stage done. @throws Rejection as `StageCompletion.mergedElsewhere` */
  complete: (stageId: StageId, merged: Merged, actor: string) => Promise<void>;
}

export type Checked = 'changed' | 'same' | 'failed';

const HOST_NAMES = { github: 'GitHub', gitlab: 'GitLab' } as const;

/** Returns the stage's pull request. @throws Rejection `no_pull_request` */
export async function requirePullRequest({ store }: Pick<CheckDeps, 'store'>, stageId: StageId): Promise<PullRequest> {
  const { pullRequest, title } = await requireStage(store.read, stageId);
  if (pullRequest === null) throw new Rejection('no_pull_request', `${title} has no pull request. Open one first.`);
  return pullRequest;
}

/**
 * Asks the code host about a stage's pull request, and stores what has changed. That it could not be asked is stored as well.
 * @param isOrdered a person asked for it: then the time is stored even if nothing has changed
 */
export async function checkPullRequest(
  deps: CheckDeps,
  stageId: StageId,
  isOrdered: boolean,
  signal: AbortSignal,
): Promise<Checked> {
  const before = await requirePullRequest(deps, stageId);
  try {
    const host = requireHost(await locateStage(deps, stageId, signal));
    const reported = await askHost(host, before, signal);
    return await save(deps, stageId, { ...reported, stale: null }, isOrdered);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Rejection)) throw error;
    const stale = error.message.split('\n')[0] ?? error.message;
    await save(deps, stageId, { ...before, stale }, false);
    return 'failed';
  }
}

async function askHost(
  host: CodeHost,
  before: PullRequest,
  signal: AbortSignal,
): Promise<Omit<PullRequest, 'checkedAt' | 'isSettled' | 'stale'>> {
  const reported = await host.read(before.number, signal);
  const unresolved = await host.countUnresolved(before.number, signal).catch((error: unknown) => {
    if (error instanceof Refusal) return null; // the rest is known
    throw error;
  });
  return { ...reported, host: host.kind, unresolved };
}

async function save(
  { store }: CheckDeps,
  stageId: StageId,
  reported: Omit<PullRequest, 'checkedAt' | 'isSettled'>,
  isOrdered: boolean,
): Promise<Checked> {
  return store.transact(async (tx) => {
    const { pullRequest: before } = await requireStage(tx, stageId);
    if (before === null || before.number !== reported.number) return 'same'; // another one has been opened since
    const isStale = reported.stale !== null;
    const now = { ...reported, checkedAt: isStale ? before.checkedAt : tx.now, isSettled: before.isSettled };
    const same = isSame(before, now);
    if (same && !isOrdered) return 'same';
    await changeStage(tx, stageId, () => ({ pullRequest: now }));
    for (const text of updatesOf(before, now)) await notify(tx, stageId, text);
    return same ? 'same' : 'changed';
  });
}

/**
 * Completes a stage whose pull request was merged, once. Does nothing while Claude works on it, or if the stage has work that was
 * not merged: then it only says so.
 */
export async function settleMerged(deps: CheckDeps, stageId: StageId): Promise<void> {
  const { store, worktrees, complete } = deps;
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
    if (there.hasMore) return settled(deps, stageId, moreWords(number, base));
    await complete(stageId, there.merged, HOST_NAMES[pullRequest.host]);
  }
  await settled(deps, stageId, null);
}

export const isMergedUnsettled = ({ pullRequest }: Pick<Stage, 'pullRequest'>): boolean =>
  pullRequest?.state === 'merged' && !pullRequest.isSettled;

const moreWords = (number: number, base: string): string =>
  `Pull request #${number} was merged into ${base}, but this stage has newer work that is not in it. Open another one, or complete the stage.`;

async function settled({ store }: CheckDeps, stageId: StageId, text: string | null): Promise<void> {
  await store.transact(async (tx) => {
    await changeStage(tx, stageId, ({ pullRequest }) => ({
      pullRequest: pullRequest === null ? null : { ...pullRequest, isSettled: true },
    }));
    if (text !== null) await notify(tx, stageId, text);
  });
}
