import type {
  Feedback,
  FeedbackBody,
  PullRequestBody,
  PullRequestPlan,
  SendMessageReply,
  StageId,
} from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import type { Logger } from '../lib/logger.ts';
import { type ChosenFeedback, feedbackMessage } from './feedback-message.ts';
import { requirePullRequest } from './look-at-pull-request.ts';
import { continuePullRequest, type OpenDeps, type Orderer, openPullRequest } from './open-pull-request.ts';
import { locateStage, planOf, requireHost, type StageOnHost } from './stage-host.ts';
import { type WatchDeps, watchPullRequests } from './watch-pull-requests.ts';

export interface PullRequestsDeps extends OpenDeps, Omit<WatchDeps, keyof OpenDeps> {
  worktrees: OpenDeps['worktrees'] & WatchDeps['worktrees'];
  platform: OpenDeps['platform'] & WatchDeps['platform'];
  log: Logger;
  /** Sends a text to Claude as its next message. */
  send: (stageId: StageId, text: string, actor: string) => Promise<SendMessageReply>;
}

/** Pull requests of stages: opened, looked after, and their answers brought back to Claude. */
export interface PullRequests {
  /** Returns what opening one would do now. Changes nothing. @throws Rejection `unknown_stage`, `no_session`, `merge_refused` */
  plan(stageId: StageId): Promise<PullRequestPlan>;
  /** Pushes, and opens a pull request unless there is one. @throws as `openPullRequest` */
  open(stageId: StageId, body: PullRequestBody, orderer: Orderer): Promise<void>;
  /** Asks the host at once; that it cannot be asked is stored. @throws Rejection `unknown_stage`, `no_pull_request` */
  refresh(stageId: StageId): Promise<void>;
  /** Returns failed checks and open comments. @throws Rejection `no_pull_request`; Refusal */
  feedback(stageId: StageId): Promise<Feedback>;
  /** Sends what was chosen of it to Claude. @throws as `feedback`; Rejection `nothing_to_send` */
  sendFeedback(stageId: StageId, chosen: FeedbackBody, actor: string): Promise<SendMessageReply>;
  stop(): Promise<void>;
}

/** Continues what a crash interrupted, and begins to look after open pull requests. */
export async function startPullRequests(deps: PullRequestsDeps): Promise<PullRequests> {
  const { store, log, send } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const byStage = createKeyedMutex();
  const watch = await watchPullRequests(deps);
  const continued = new Set<Promise<void>>();
  for (const { id, finishing } of await store.read.stages.list()) {
    if (finishing?.state !== 'under-way' || finishing.way !== 'pull-request') continue;
    continued.add(
      byStage(id, () => continuePullRequest(deps, id, signal)).catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error, stageId: id }, 'continuing a pull request failed');
      }),
    );
  }

  async function hostOf(stageId: StageId) {
    const pullRequest = await requirePullRequest(deps, stageId);
    const place = await locateStage(deps, stageId, signal);
    return { pullRequest, place, host: requireHost(place) };
  }

  return {
    plan: async (stageId) => planOf(await locateStage(deps, stageId, signal)),
    open: (stageId, body, orderer) => byStage(stageId, () => openPullRequest(deps, stageId, { body, orderer }, signal)),

    async refresh(stageId) {
      await requirePullRequest(deps, stageId);
      await watch.check(stageId);
    },

    async feedback(stageId) {
      const { host, pullRequest } = await hostOf(stageId);
      const checks = await host.failedChecks(pullRequest.number, signal);
      return { checks, comments: await host.comments(pullRequest.number, signal) };
    },

    async sendFeedback(stageId, { checks = [], comments = [], conflict = false }, actor) {
      const { host, pullRequest, place } = await hostOf(stageId);
      const { number } = pullRequest;
      const logs = checks.length === 0 ? [] : await host.logs(number, checks, signal);
      const all = comments.length === 0 ? [] : await host.comments(number, signal);
      const chosen = {
        checks: logs,
        comments: all.filter(({ id }) => comments.includes(id)),
        conflictWith: conflict ? baseOf(place) : null,
      };
      if (chosen.checks.length + chosen.comments.length === 0 && chosen.conflictWith === null) {
        const message = 'These checks no longer fail, and these comments are resolved. Nothing was sent. Look again.';
        throw new Rejection('nothing_to_send', message);
      }
      return send(stageId, feedbackMessage(pullRequest, chosen), actor);
    },

    async stop() {
      stopping.abort();
      await watch.stop();
      await Promise.all(continued);
    },
  };
}

/** From where the base can be fetched. */
function baseOf({ push, found: { parent } }: StageOnHost): ChosenFeedback['conflictWith'] {
  if (parent !== null) return { address: `https://${parent.host}/${parent.path}.git` };
  return push.remote === null ? null : { remote: push.remote.name };
}
