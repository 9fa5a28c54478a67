import {
  isOpenPullRequest,
  type Project,
  type PullRequestPlan,
  type Stage,
  type StageId,
  type Worktree,
} from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { PushPlan } from '../worktrees/push-plan.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { draftPullRequest } from './draft.ts';
import { type FoundHost, findCodeHost } from './find-code-host.ts';
import type { CodeHost } from './hosts/code-host.ts';
import type { FindParent } from './hosts/find-parent.ts';
import { problemOf, Refusal } from './refusal.ts';
import { compareUrl } from './remote-address.ts';

export interface StageHostDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'planPush' | 'gitSettings'>;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  findParent: FindParent;
  /** Returns the branch that the project's stages begin at, if the project says so. */
  baseOf?: (stageId: StageId) => Promise<string | null>;
}

/** A stage with the place of its pull request. */
export interface StageOnHost {
  stage: Stage;
  project: Project;
  worktree: Worktree;
  push: PushPlan;
  found: FoundHost;
  /** Why no pull request can be opened now; null if one can. */
  refusal: Refusal | null;
}

/** @throws Rejection `unknown_stage`; `no_session` if the stage never ran; `merge_refused` if its work is gone */
export async function locateStage(
  { store, worktrees, env, baseOf, findParent }: StageHostDeps,
  stageId: StageId,
  signal: AbortSignal,
): Promise<StageOnHost> {
  const stage = await requireStage(store.read, stageId);
  const project = await requireProject(store.read, stage.projectId);
  const { worktree } = stage;
  if (worktree === null) throw new Rejection('no_session', `${stage.title} was never started, so it has no work.`);
  const wanted = stage.base ?? (await baseOf?.(stageId)) ?? null;
  const push = await worktrees.planPush(project, worktree, wanted);
  const hasPendingSettings = async (one: Project) => (await worktrees.gitSettings(one)).length > 0;
  const { pullRequest } = stage;
  const openedAt = pullRequest !== null && isOpenPullRequest(pullRequest) ? pullRequest.url : null;
  const found: FoundHost =
    push.remote === null
      ? { address: null, kind: null, host: null, parent: null, refusal: noRemote(project) }
      : await findCodeHost({ env, hasPendingSettings, findParent, openedAt }, project, push.remote.urls, signal);
  return { stage, project, worktree, push, found, refusal: refusalOf(push, found) };
}

function refusalOf(
  { base, branch, commits, uncommittedCount, placeholderRefusal }: PushPlan,
  found: FoundHost,
): Refusal | null {
  const { refusal, address, kind } = found;
  if (refusal?.code === 'no_remote') return refusal;
  if (base === null)
    return new Refusal(
      'pull_request_refused',
      'The main checkout is on no branch, so there is none to open a pull request to. Check one out there, or give the stage a base branch.',
    );
  if (branch === base)
    return new Refusal(
      'pull_request_refused',
      `The stage works on ${base} itself, so there is nothing to open a pull request to.`,
    );
  if (refusal !== null) {
    const byHand = address === null || kind === null ? null : compareUrl(kind, address, { base, branch });
    return refusal.withUrl(byHand);
  }
  if (placeholderRefusal !== null) return new Refusal('push_refused', placeholderRefusal);
  if (commits === 0 && uncommittedCount === 0)
    return new Refusal('pull_request_refused', `${branch} has nothing that ${base} lacks.`);
  return null;
}

/** The refusal for a repository without a remote. */
export function noRemote({ path }: Project): Refusal {
  const message = `The repository at ${path} has no remote, so there is nowhere to push to. Add one, then try again.`;
  return new Refusal('no_remote', message, { command: `git -C ${quoted(path)} remote add origin <address>` });
}

const quoted = (path: string): string => (/^[\w/.@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

/** Returns the host of a stage's pull request. @throws Refusal if no program can ask it */
export const requireHost = ({ found }: StageOnHost): CodeHost => requireFound(found);

/** @throws Refusal if no program can ask the host */
export function requireFound(found: FoundHost): CodeHost {
  if (found.refusal !== null) throw found.refusal;
  if (found.host === null) throw new Refusal('no_code_host', 'No program for this code host is installed.');
  return found.host;
}

/** What a person is shown before a pull request is opened. */
export function planOf({ stage, push, found, refusal }: StageOnHost): PullRequestPlan {
  const { remote, subjects, placeholderRefusal: _placeholderRefusal, ...rest } = push;
  const { address, kind, parent } = found;
  return {
    ...rest,
    ...draftPullRequest(stage, subjects),
    remote: remote?.name ?? null,
    repository: address === null ? null : `${address.host}/${address.path}`,
    parent: parent === null ? null : `${parent.host}/${parent.path}`,
    host: kind,
    problem: refusal === null ? null : problemOf(refusal),
  };
}
