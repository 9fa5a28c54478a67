import { isActive, isOpenPullRequest, ObjectId, type PullRequest, type Stage, type StageId } from '@callboard/contract';
import type { Merged, Worktrees } from '../../core/worktrees/worktrees.ts';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import { onEvents, requireProject, requireStage } from '../../store/store.ts';
import { type CodeHost, Refusal } from './code-host.ts';
import { locateStage, requireHost, type StageHostDeps } from './find-code-host.ts';
import { changeStage, isSame, notify, updatesOf } from './open-pull-request.ts';

export interface WatchDeps extends CheckDeps {
  log: Logger;
  platform: Pick<Platform, 'uptimeMs'>;
  /** How long after a look the next one usually follows. */
  usualMs: number;
}

/** Asks the code hosts about open pull requests, gently: one after another, seldom while nothing happens. */
export interface PullRequestWatch {
  /** Asks at once. @throws as `checkPullRequest` */
  check(stageId: StageId): Promise<Checked>;
  stop(): Promise<void>;
}

export async function watchPullRequests(deps: WatchDeps): Promise<PullRequestWatch> {
  const { store, platform, usualMs } = deps;
  const times = createPollTimes({ uptimeMs: platform.uptimeMs, usualMs });
  const work = createBackground(deps);
  /** Stages whose pull request was merged while Claude worked. */
  const merged = new Set<StageId>();
  const [inTurn, settling] = [createKeyedMutex(), createKeyedMutex()];
  let timer: NodeJS.Timeout | undefined;

  function wake(): void {
    clearTimeout(timer);
    const next = times.untilNextMs();
    if (next === null || work.signal.aborted) return;
    timer = setTimeout(() => {
      for (const stageId of times.takeDue()) work.begin(stageId, () => ask(stageId, false));
      wake();
    }, next).unref();
  }

  /** One at a time, so that a board with many stages does not flood the host. */
  const ask = (stageId: StageId, isOrdered: boolean): Promise<Checked> =>
    inTurn('all', async () => {
      let checked: Checked = 'failed';
      try {
        checked = await checkPullRequest(deps, stageId, isOrdered, work.signal);
        return checked;
      } finally {
        times.asked(stageId, checked);
        wake();
      }
    });

  const settle = (stageId: StageId): Promise<void> => settling(stageId, () => settleMerged(deps, stageId));

  function see({ id, pullRequest, merged: isMerged }: Pick<Stage, 'id' | 'pullRequest' | 'merged'>): void {
    if (isMergedUnsettled({ pullRequest })) {
      merged.add(id);
      work.begin(id, () => settle(id));
    } else merged.delete(id);
    if (pullRequest === null || !isOpenPullRequest(pullRequest) || isMerged !== null) times.forget(id);
    else times.see(id, `${pullRequest.number} ${pullRequest.head} ${pullRequest.checks}`);
    wake();
  }

  const unlisten = [
    onEvents(store, ['stage-updated', 'stage-removed'], ({ type, data }) =>
      type === 'stage-updated' ? see(data.stage) : times.forget(data.stageId),
    ),
    // Any change of its session may let it settle: a turn or a background task that ends, an alarm that is over.
    onEvents(store, ['session-updated'], ({ data: { stageId } }) => {
      if (merged.has(stageId)) work.begin(stageId, () => settle(stageId));
    }),
  ];
  for (const stage of await store.read.stages.list()) see(stage);
  return {
    async check(stageId) {
      const checked = await ask(stageId, true);
      await settle(stageId);
      return checked;
    },
    async stop() {
      for (const stop of unlisten) stop();
      clearTimeout(timer);
      await work.stop();
    },
  };
}

/** Work that nobody waits for. What fails is logged. */
function createBackground({ log }: Pick<WatchDeps, 'log'>) {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  return {
    signal: stopping.signal,
    begin(stageId: StageId, work: () => Promise<unknown>): void {
      if (stopping.signal.aborted) return;
      const done = work()
        .catch((error: unknown) => {
          if (stopping.signal.aborted) return;
          if (error instanceof Rejection) log.info({ stageId, code: error.code }, 'pull request not settled');
          else log.error({ err: error, stageId }, 'asking for a pull request failed');
        })
        .then(() => void running.delete(done));
      running.add(done);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

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
async function checkPullRequest(
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
async function settleMerged(deps: CheckDeps, stageId: StageId): Promise<void> {
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

const isMergedUnsettled = ({ pullRequest }: Pick<Stage, 'pullRequest'>): boolean =>
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

/** What decides when a pull request is asked for again. */
export interface PollFacts {
  /** How often in a row the host could not be asked. */
  failures: number;
  /** How often in a row nothing had changed. */
  unchanged: number;
  /** Whether something is about to happen: checks run, or somebody has just pushed. */
  isAnimated: boolean;
}

const LIVELY = 0.25;
const SLOWEST_QUIET = 5;
const SLOWEST_FAILED = 15;
const QUIET_AFTER = 10;
const JITTER = 0.2;

/**
 * Returns after how many milliseconds to ask again: a quarter of the usual time while something happens, up to five times of it
 * when nothing does, up to fifteen times when the host cannot be asked; always a little earlier or later, so that many
 * stages do not ask at once.
 * @param usualMs the usual time
 * @param random from 0 to 1
 */
export function pollDelayMs({ failures, unchanged, isAnimated }: PollFacts, usualMs: number, random: number): number {
  const quiet = Math.min(SLOWEST_QUIET, 2 ** Math.max(0, Math.floor(unchanged / QUIET_AFTER)));
  const factor = failures > 0 ? Math.min(SLOWEST_FAILED, 2 ** (failures - 1)) : isAnimated ? LIVELY : quiet;
  return Math.round(usualMs * factor * (1 + JITTER * (2 * random - 1)));
}

interface Polled extends Omit<PollFacts, 'isAnimated'> {
  /** On the monotonic clock, as all instants here. */
  dueAt: number;
  animatedUntil: number;
  /** What was last seen: something else means that something happened. */
  seen: string;
}

/** When each stage's pull request is to be asked for. Asks nothing itself. */
export interface PollTimes {
  /** Notes that a stage has an open pull request, and what is known of it. A new one is due at once. */
  see(stageId: StageId, seen: string): void;
  forget(stageId: StageId): void;
  /** Returns the stages that are due. Each is due again only once `asked` was called for it. */
  takeDue(): StageId[];
  asked(stageId: StageId, checked: 'changed' | 'same' | 'failed'): void;
  /** Returns the milliseconds until one is due; null if there is none. */
  untilNextMs(): number | null;
}

/** How long after something happened more is expected. */
const LIVELY_MS = 10 * 60_000;

export function createPollTimes(
  { uptimeMs, usualMs }: { uptimeMs: () => number; usualMs: number },
  random: () => number = Math.random,
): PollTimes {
  const polled = new Map<StageId, Polled>();
  return {
    see(stageId, seen) {
      const now = uptimeMs();
      const known = polled.get(stageId);
      const animatedUntil = now + LIVELY_MS;
      if (known === undefined) polled.set(stageId, { dueAt: now, failures: 0, unchanged: 0, animatedUntil, seen });
      else if (known.seen !== seen) Object.assign(known, { seen, animatedUntil, unchanged: 0 });
    },
    forget: (stageId) => void polled.delete(stageId),
    takeDue() {
      const due = [...polled].filter(([, { dueAt }]) => dueAt <= uptimeMs());
      for (const [, one] of due) one.dueAt = Number.POSITIVE_INFINITY;
      return due.map(([stageId]) => stageId);
    },
    asked(stageId, checked) {
      const one = polled.get(stageId);
      if (one === undefined) return;
      one.failures = checked === 'failed' ? one.failures + 1 : 0;
      one.unchanged = checked === 'same' ? one.unchanged + 1 : 0;
      const now = uptimeMs();
      one.dueAt = now + pollDelayMs({ ...one, isAnimated: now < one.animatedUntil }, usualMs, random());
    },
    untilNextMs() {
      const next = Math.min(...[...polled.values()].map(({ dueAt }) => dueAt));
      return Number.isFinite(next) ? Math.max(0, next - uptimeMs()) : null;
    },
  };
}
