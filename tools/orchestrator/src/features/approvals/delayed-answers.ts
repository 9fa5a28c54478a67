import { isDeepStrictEqual } from 'node:util';
import {
  type CommandInput,
  isRequestEvent,
  type PendingRequest,
  REQUEST_EVENTS,
  type StageId,
  withAnswerDelayed,
} from '@callboard/contract';
import { createReconciler } from '@callboard/runtime/reconciler';
import { Rejection } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { DelayedAnswerRow, GivenAnswer, RequestAddress, StoredRequest } from '../../store/ports/session-port.ts';
import { onEvents, type Store, type Tx } from '../../store/store.ts';
import { conflict, type DelayedAnswers, giveAnswer, isBeingAnswered, readAnswer, requireOpen } from './approvals.ts';

export interface DelayedAnswerDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  /** How long an answer is held back. */
  delayMs: number;
}

/** The delay before a retry after the store fails. */
const RETRY_MS = 1_000;

/**
 * Sends the answers that an earlier run held back, those whose time is over before this resolves, and plans the others. Times are
 * measured with the monotonic clock, so a jump of the wall clock sends nothing early; only the time while Callboard was not
 * running is read from the wall clock.
 */
export async function startDelayedAnswers(deps: DelayedAnswerDeps): Promise<DelayedAnswers> {
  const { store, platform, log, delayMs } = deps;
  const timers = new Map<string, NodeJS.Timeout>();
  let stopped = false;

  function plan(place: RequestAddress, inMs: number): void {
    const key = `${place.stageId}/${place.requestId}`;
    clearTimeout(timers.get(key));
    timers.delete(key);
    if (stopped) return;
    const check = () => {
      timers.delete(key);
      void send(place);
    };
    timers.set(key, setTimeout(check, inMs).unref());
  }

  async function send(place: RequestAddress): Promise<void> {
    try {
      await store.transact((tx) => sendDelayed(tx, place));
    } catch (error) {
      const { stageId, requestId } = place;
      log.error({ err: error, stageId, requestId }, 'sending an answer that was held back failed');
      // Another release held it back, and this one refuses it: a person answers again.
      if (error instanceof Rejection)
        await store.transact((tx) => forget(tx, place)).catch(() => plan(place, RETRY_MS));
      else plan(place, RETRY_MS);
    }
  }

  for (const request of await store.read.requests.listOpen()) {
    if (request.held === undefined) continue;
    const leftMs = Date.parse(request.held.until) - platform.now().getTime();
    if (leftMs <= 0) await send(request);
    else plan(request, Math.min(leftMs, delayMs));
  }

  /** What another machine held back is sent from here as well, should that machine be gone by then: whoever is first sends it. */
  const unlisten = onEvents(store, ['answer-held'], ({ data }) => {
    if (data.held !== null && !timers.has(`${data.stageId}/${data.requestId}`)) plan(data, delayMs);
  });

  return {
    async hold(stageId, given, actor) {
      const { requestId } = given.body;
      const { until, isNew } = await store.transact((tx) => delayAnswer(tx, { stageId, given, actor, delayMs }));
      if (isNew) plan({ stageId, requestId }, delayMs);
      return { heldUntil: until };
    },
    withdraw: (wanted, actor) => store.transact((tx) => withdraw(tx, wanted, actor)),
    stop() {
      unlisten();
      stopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

interface Delaying {
  stageId: StageId;
  given: GivenAnswer;
  actor: string;
  delayMs: number;
}

async function delayAnswer(
  tx: Tx,
  { stageId, given, actor, delayMs }: Delaying,
): Promise<DelayedAnswerRow & { isNew: boolean }> {
  const stands = (await tx.requests.find(stageId, given.body.requestId))?.hold ?? null;
  // A reply may be lost, so the same answer is asked for again.
  if (stands !== null && stands.by === actor && isDeepStrictEqual(bare(stands.given), bare(given)))
    return { ...stands, isNew: false };
  const { request } = await requireOpen(tx, stageId, given.body.requestId);
  const { outcome } = readAnswer(given, actor).answerTo(request).verdict;
  if (outcome === 'timed-out' || outcome === 'closed') throw new Error(`an answer of a person is never ${outcome}`);
  const held = { by: actor, outcome, until: new Date(Date.parse(tx.now) + delayMs).toISOString() };
  const pause = { ...held, given: { ...bare(given), device: given.device } };
  await tx.requests.hold(request, pause);
  await tx.emit({ type: 'answer-held', data: { stageId, requestId: request.requestId, held } });
  return { ...pause, isNew: true };
}

/** The answer as JSON keeps it, wherever it was given. */
const bare = (given: GivenAnswer): GivenAnswer => JSON.parse(JSON.stringify({ ...given, device: undefined }));

/** Sends the answer that is still held back, if any. */
async function sendDelayed(tx: Tx, place: RequestAddress): Promise<void> {
  const stored = await tx.requests.find(place.stageId, place.requestId);
  if (stored === null || stored.decision !== null || stored.hold === null) return;
  const { given, by } = stored.hold;
  await giveAnswer(tx, { stored, actor: by, ...readAnswer(given, by) });
}

async function withdraw(tx: Tx, wanted: CommandInput<'take_back_answer'>, actor: string): Promise<PendingRequest> {
  const { request, decision, hold } = await findStored(tx, wanted);
  if (decision !== null) throw conflict(decision);
  if (hold === null) return request;
  if (hold.by !== actor) throw isBeingAnswered(hold);
  await forget(tx, request);
  return withAnswerDelayed(request, null);
}

async function forget(tx: Tx, { stageId, requestId }: RequestAddress): Promise<void> {
  await tx.requests.hold({ stageId, requestId }, null);
  await tx.emit({ type: 'answer-held', data: { stageId, requestId, held: null } });
}

/** Open requests come first, should other stages have had one of that id. */
async function findStored(tx: Tx, { requestId, stageId }: CommandInput<'take_back_answer'>): Promise<StoredRequest> {
  const all = (await tx.requests.findAll(requestId)).filter(
    ({ request }) => stageId === undefined || request.stageId === stageId,
  );
  const found = all.find(({ decision }) => decision === null) ?? all.at(-1);
  if (found !== undefined) return found;
  throw new Rejection('unknown_request', `No request has the id ${requestId}. It may be of a stage that was removed.`);
}

export interface TimeLimitDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  expire: (request: PendingRequest) => Promise<void>;
}

/** The delay before a retry after the store fails. */
const TIME_LIMIT_RETRY_MS = 5_000;

/**
 * Denies requests that reach their time limit, including those that were open before a restart. The store is authoritative; the
 * timer only says when to check again. The wait is measured with the monotonic clock, so a jump of the wall clock denies nothing.
 * The wait before a restart can only be computed from the wall clock.
 */
export async function startTimeLimits({ store, platform, log, expire }: TimeLimitDeps): Promise<{ stop: () => void }> {
  /** When each request expires, in `uptimeMs`, by stage and request. */
  const deadlines = new Map<string, number>();

  async function checkDeadlines(): Promise<void> {
    const open = new Map((await store.read.requests.listOpen()).map((request) => [keyOf(request), request]));
    for (const [key, deadline] of deadlines) {
      if (deadline > platform.uptimeMs()) continue;
      const request = open.get(key);
      if (request === undefined) deadlines.delete(key);
      else await expireOne(request);
    }
    plan();
  }

  async function expireOne(request: PendingRequest): Promise<void> {
    deadlines.delete(keyOf(request));
    try {
      await expire(request);
    } catch (error) {
      const isHeld = error instanceof Rejection && error.code === 'answer_held'; // it may still be taken back
      if (error instanceof Rejection && !isHeld) return; // somebody answered first
      if (!isHeld) log.error({ err: error, requestId: request.requestId }, 'denying an expired request failed');
      deadlines.set(keyOf(request), platform.uptimeMs() + TIME_LIMIT_RETRY_MS);
    }
  }

  function plan(): void {
    if (deadlines.size > 0) checks.scheduleIn(Math.max(0, Math.min(...deadlines.values()) - platform.uptimeMs()));
  }

  function add(request: PendingRequest, waitedMs: number): void {
    if (request.expiresAt === null) return;
    const limitMs = Date.parse(request.expiresAt) - Date.parse(request.createdAt);
    const leftMs = Math.min(Math.max(0, limitMs - waitedMs), limitMs);
    deadlines.set(keyOf(request), platform.uptimeMs() + leftMs);
  }

  const checks = createReconciler(
    checkDeadlines,
    (error) => {
      log.error({ err: error }, 'looking for expired requests failed');
      checks.scheduleIn(TIME_LIMIT_RETRY_MS);
    },
    {
      on: () => [
        onEvents(store, [...REQUEST_EVENTS, 'approval-resolved'], (event) => {
          if (isRequestEvent(event)) {
            add(event.data, 0);
            plan();
          } else deadlines.delete(keyOf(event.data));
        }),
      ],
    },
  );
  for (const request of await store.read.requests.listOpen()) {
    add(request, platform.now().getTime() - Date.parse(request.createdAt));
  }
  plan();
  return { stop: () => void checks.stop() };
}

const keyOf = ({ stageId, requestId }: Pick<PendingRequest, 'stageId' | 'requestId'>): string =>
  `${stageId}/${requestId}`;
