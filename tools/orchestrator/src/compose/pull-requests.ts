import { hasProcessWith } from '../claude/processes/marked-processes.ts';
import type { MessageQueue } from '../messages/message-queue.ts';
import type { StageSettings } from '../project-settings/project-settings.ts';
import { finishStages } from '../pull-requests/finish-stages.ts';
import { createHostIssues, type HostIssues } from '../pull-requests/host-issues.ts';
import { createParentLookup } from '../pull-requests/hosts/find-parent.ts';
import { type PullRequests, startPullRequests } from '../pull-requests/pull-requests.ts';
import type { Receipts } from '../receipts/receipts.ts';
import type { StageCompletion } from '../stages/complete-stage.ts';
import type { Stages } from '../stages/stages.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { StartContext } from './start-context.ts';

interface PullRequestDeps {
  store: Store;
  worktrees: Worktrees;
  /** The user's environment, in which `gh` and `glab` have their login. */
  env: Record<string, string>;
  messages: MessageQueue;
  completion: StageCompletion;
  receipts: Receipts;
  stageSettings: Pick<StageSettings, 'ofStage'>;
}

/** Builds what makes stages of issues. */
export function composeIssues(
  { life }: StartContext,
  { stages, ...parts }: Pick<PullRequestDeps, 'store' | 'worktrees' | 'env'> & { stages: Stages },
): HostIssues {
  const stopping = new AbortController();
  life.onStop('issues', () => stopping.abort());
  return createHostIssues({ ...parts, create: stages.create, signal: stopping.signal });
}

/** Builds what opens pull requests, looks after them, and finishes stages by themselves. */
export async function composePullRequests(context: StartContext, deps: PullRequestDeps): Promise<PullRequests> {
  const { log, platform, life, limits } = context;
  const { store, worktrees, env, messages, completion, receipts, stageSettings } = deps;
  const pullRequests = await startPullRequests({
    store,
    worktrees,
    env,
    log,
    platform,
    hasProcessWith,
    usualMs: limits.pullRequestMs,
    findParent: createParentLookup(env),
    receiptOf: async (stageId) => (await receipts.of(stageId)).markdown,
    baseOf: async (stageId) => (await stageSettings.ofStage(stageId)).settings.base,
    send: (stageId, message, actor) => messages.send(stageId, { message, mode: 'append' }, actor),
    complete: completion.mergedElsewhere,
  });
  life.onStop('pull requests', pullRequests.stop);
  const stopFinishing = await finishStages({
    store,
    log,
    pullRequests,
    retryMs: limits.diskCheckIntervalMs,
    async projectWay(stageId) {
      const { settings, fromFile, isAgreed } = await stageSettings.ofStage(stageId);
      return isAgreed || !fromFile.includes('finish') ? settings.finish : 'none'; // the file alone decides nothing
    },
    async merge(stageId, message, actor) {
      const { plan } = await completion.preview(stageId);
      const seen = plan === null ? {} : { head: plan.head, tree: plan.tree };
      const commit = plan !== null && plan.uncommittedCount > 0 ? { commit: { message } } : {};
      await completion.complete({ stageId, merge: true, receipt: true, ...seen, ...commit }, actor);
    },
  });
  life.onStop('finishing stages', stopFinishing);
  return pullRequests;
}
