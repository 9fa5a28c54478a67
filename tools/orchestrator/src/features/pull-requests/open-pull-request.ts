import {
  type Finishing,
  isActive,
  isOpenPullRequest,
  type PullRequest,
  type PullRequestBody,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { pause } from '@callboard/runtime/waits';
import { requireNoAwaitedTasks } from '../../core/session/background-tasks.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { requireNotInTerminal } from '../../core/session/rewind-rules.ts';
import { addNotice } from '../../core/session/session-change.ts';
import type { PushFailure } from '../../core/worktrees/publishing.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import { requireStage, type Tx } from '../../store/store.ts';
import { type CodeHost, draftPullRequest, type HostPullRequest, problemOf, Refusal } from './code-host.ts';
import { locateStage, requireHost, type StageHostDeps, type StageOnHost } from './find-code-host.ts';

export interface OpenDeps extends StageHostDeps {
  worktrees: Pick<Worktrees, 'planPush' | 'gitSettings' | 'push' | 'commit'>;
  platform: Pick<Platform, 'newId'>;
  /** Whether a process with this variable is alive, as `NAME=value`. */
  hasProcessWith: (variable: string) => Promise<boolean>;
  /** Returns the stage's receipt as Markdown. */
  receiptOf: (stageId: StageId) => Promise<string>;
}

/** Who orders a pull request, and after which turn, if Callboard does so by itself. */
export interface Orderer {
  by: string;
  turn: string | null;
}

const MARKER = 'CB_PULL_REQUEST';
const CHECK_INTERVAL_MS = 100;
/** What still runs after this time hangs; another push of the same commit does no harm. */
const ENDS_MS = 120_000;

type Order = NonNullable<Finishing['order']>;

/**
 * Pushes a stage's branch and opens a pull request for it. What was ordered is stored before anything leaves the machine, each
 * step finds what an earlier attempt has done, and so a crash at any moment neither loses the order nor opens a second one.
 * @throws Rejection `unknown_stage`, `stage_running`, `in_terminal`, `uncommitted_work`, `head_moved`, `commit_refused`; Refusal
 */
export async function openPullRequest(
  deps: OpenDeps,
  stageId: StageId,
  { body: wanted, orderer }: { body: PullRequestBody; orderer: Orderer },
  signal: AbortSignal,
): Promise<void> {
  await requireIdle(deps, stageId);
  const place = await locateStage(deps, stageId, signal);
  if (place.refusal !== null) throw place.refusal;
  requireHost(place);
  const { stage, project, worktree, push } = place;
  if (stage.merged !== null)
    throw new Rejection('already_done', `${stage.title} is already merged into ${stage.merged.into}.`);
  const seen = { ...(wanted.head && { head: wanted.head }), ...(wanted.tree && { tree: wanted.tree }) };
  requireSeen(push, seen);
  if (push.uncommittedCount > 0 && wanted.commit === undefined) throw uncommitted(push);
  const head =
    wanted.commit === undefined || push.uncommittedCount === 0
      ? push.head
      : await deps.worktrees.commit(project, worktree, { ...wanted.commit, ...seen });
  const draft = planDraft(place, wanted);
  const receipt = wanted.receipt === true ? `\n\n${await deps.receiptOf(stageId)}` : '';
  const order: Order = { id: deps.platform.newId(), ...draft, body: `${draft.body}${receipt}`.slice(0, 65_000), head };
  await deps.store.sync(); // a power cut must not lose the order of what others can see
  await deps.store.transact((tx) =>
    changeStage(tx, stageId, () => ({
      finishing: { way: 'pull-request', state: 'under-way', ...orderer, at: tx.now, order, problem: null },
    })),
  );
  await carryOut(deps, { ...place, push: { ...push, head } }, order, signal);
}

/** Carries an order of an earlier run on. Waits first until the programs of that run have ended. */
export async function continuePullRequest(deps: OpenDeps, stageId: StageId, signal: AbortSignal): Promise<void> {
  const { finishing } = await requireStage(deps.store.read, stageId);
  const order = finishing?.state === 'under-way' ? finishing.order : null;
  if (order === null) return;
  for (
    let waited = 0;
    waited < ENDS_MS && (await deps.hasProcessWith(`${MARKER}=${order.id}`));
    waited += CHECK_INTERVAL_MS
  ) {
    await pause(CHECK_INTERVAL_MS, signal);
    signal.throwIfAborted();
  }
  try {
    const place = await locateStage(deps, stageId, signal);
    if (place.found.refusal !== null) throw place.found.refusal;
    await carryOut(deps, place, order, signal);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    await refuse(deps, stageId, order, error);
  }
}

async function carryOut(deps: OpenDeps, place: StageOnHost, order: Order, signal: AbortSignal): Promise<void> {
  const { stage } = place;
  try {
    const { opened, isNew } = await pushAndOpen(deps, place, order, signal);
    await deps.store.transact(async (tx) => {
      const done = await changeStage(tx, stage.id, (now) => ({
        ...ended(order.id, { state: 'done', order: null, problem: null })(now),
        pullRequest: { ...opened, checkedAt: tx.now },
      }));
      const did = isNew ? 'opened' : 'pushed to';
      await notify(
        tx,
        stage.id,
        `${done.finishing?.by ?? 'Callboard'} ${did} pull request #${opened.number} to ${opened.base}: ${opened.url}`,
      );
    });
  } catch (error) {
    if (error instanceof Rejection) await refuse(deps, stage.id, order, error);
    throw error;
  }
}

async function refuse({ store }: OpenDeps, stageId: StageId, { id }: Order, error: Rejection): Promise<void> {
  await store.transact((tx) => changeStage(tx, stageId, ended(id, { state: 'refused', problem: problemOf(error) })));
}

type Opened = Omit<PullRequest, 'checkedAt'>;

async function pushAndOpen(
  deps: OpenDeps,
  place: StageOnHost,
  order: Order,
  signal: AbortSignal,
): Promise<{ opened: Opened; isNew: boolean }> {
  const { stage, project, worktree, push, found } = place;
  const host = requireHost(place);
  const { branch } = push;
  const base = push.base ?? '';
  const remote = push.remote?.name ?? '';
  const marker = { [MARKER]: order.id };
  const { failure, output } = await deps.worktrees.push(
    project,
    worktree,
    { remote, branch, head: order.head, marker },
    signal,
  );
  signal.throwIfAborted();
  if (failure !== null) throw pushRefusal(failure, output, { branch, remote, program: host.program });
  const known = await findOpen(host, place, order, signal);
  if (known === null) {
    try {
      await host.create({ ...order, base, branch, marker }, signal);
    } catch (error) {
      signal.throwIfAborted();
      // Somebody else, or an earlier attempt whose answer was lost, was first.
      if (!(error instanceof Refusal) || (await findOpen(host, place, order, signal)) === null) throw error;
    }
  }
  const there = known ?? (await findOpen(host, place, order, signal));
  if (there === null) {
    const message = `${found.address?.host ?? 'The code host'} does not list the new pull request yet. Try again in a moment: it is not opened twice.`;
    throw new Refusal('pull_request_refused', message);
  }
  const before = stage.pullRequest?.number === there.number ? stage.pullRequest : null;
  const opened = {
    ...there,
    host: host.kind,
    unresolved: before?.unresolved ?? 0,
    stale: null,
    isSettled: false,
  };
  return { opened, isNew: known === null };
}

/** The open pull request of the branch, or one that was merged with exactly this commit: then there is nothing to open. */
async function findOpen(
  host: CodeHost,
  { push, stage }: StageOnHost,
  { head }: Order,
  signal: AbortSignal,
): Promise<HostPullRequest | null> {
  const all = await host.ofBranch(push.branch, signal);
  const open = all.filter(isOpenPullRequest);
  const own = open.find(({ number }) => number === stage.pullRequest?.number);
  const merged = all.find((one) => one.state === 'merged' && one.head === head);
  return own ?? open.find(({ base }) => base === push.base) ?? open[0] ?? merged ?? null;
}

function planDraft(place: StageOnHost, { title, body, draft = false }: PullRequestBody) {
  const drafted = draftPullRequest(place.stage, place.push.subjects);
  return { title: title ?? drafted.title, body: body ?? drafted.body, draft };
}

async function requireIdle({ store }: OpenDeps, stageId: StageId): Promise<void> {
  const session = await store.read.sessions.find(stageId);
  requireNotInTerminal(session);
  requireNoAwaitedTasks(session, 'Nothing was pushed, because work of');
  if (session !== null && isActive(session.state))
    throw new Rejection('stage_running', `${stageId} is still working. Wait until it is idle, or interrupt it first.`);
}

function requireSeen(push: StageOnHost['push'], seen: { head?: string; tree?: string }): void {
  const same = (seen.head ?? push.head) === push.head && (seen.tree ?? push.tree) === push.tree;
  if (same) return;
  const message =
    'The work has changed in the meantime. Nothing was pushed. Look at the changes, then open the pull request.';
  throw new Rejection('head_moved', message);
}

function uncommitted({ branch, uncommitted: files, uncommittedCount }: StageOnHost['push']): Rejection {
  const what = uncommittedCount === 1 ? '1 file has' : `${uncommittedCount} files have`;
  const message = `${what} uncommitted changes on ${branch} (${files.slice(0, 5).join(', ')}). Commit them, then open the pull request.`;
  return new Rejection('uncommitted_work', message);
}

interface PushContext {
  branch: string;
  remote: string;
  /** `gh` or `glab`. */
  program: string;
}

/** Returns why a branch was not pushed: the cause and the next step, then what git and the remote said. */
function pushRefusal(failure: PushFailure, output: string, context: PushContext): Refusal {
  const { text, command } = textOf(failure, context);
  const details = output
    .split('\n')
    .map((line) => line.replace(/^remote: ?/, ''))
    .filter((line) => line.trim() !== '')
    .join('\n');
  return new Refusal('push_refused', `${text} Nothing was pushed.\n${details}`.trim(), { command: command ?? null });
}

function textOf(failure: PushFailure, { branch, remote, program }: PushContext): { text: string; command?: string } {
  switch (failure) {
    case 'behind':
      return {
        text: `${branch} has commits on ${remote} that this worktree lacks. Ask Claude to fetch and merge ${remote}/${branch}, then try again.`,
      };
    case 'refused':
      return { text: `${remote} does not accept ${branch}: a rule or a hook there refuses it.` };
    case 'hook':
      return {
        text: `Git or a pre-push hook of this repository refused to push ${branch}. Fix what it reports, then try again.`,
      };
    case 'no-login':
      return {
        text: `Git has no login for ${remote}. Give it one in a terminal, then try again.`,
        command: `${program} auth ${program === 'gh' ? 'setup-git' : 'login'}`,
      };
    case 'no-access':
      return { text: `Your login may not push to ${remote}. Ask for write access, or push to a fork.` };
    case 'not-found':
      return { text: `The repository that ${remote} names does not exist, or your login may not see it.` };
    case 'unreachable':
      return { text: `${remote} cannot be reached. Check the connection, then try again.` };
    case 'timed-out':
      return { text: `The push of ${branch} took longer than ten minutes, or was stopped. Try again.` };
    case 'unknown':
      return { text: `Git could not push ${branch} to ${remote}.` };
    default:
      return failure satisfies never;
  }
}

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
const ended =
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
