import { isDeepStrictEqual } from 'node:util';
import {
  type AnswerBody,
  type ApproveBody,
  byWhom,
  type CommandInput,
  type Decision,
  type DelayedReply,
  isRequestEvent,
  type PendingRequest,
  REQUEST_EVENTS,
  type RequestId,
  type SendMessageReply,
  type StageId,
  withAnswerDelayed,
} from '@callboard/contract';
import { createReconciler } from '@callboard/runtime/reconciler';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { z } from 'zod';
import { leavesByInput } from '../../core/agent-event.ts';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { requestKinds } from '../../core/kinds/registry.ts';
import { type Answer, permissionUpdatesProblem, type SavedRule } from '../../core/kinds/shared/definition.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { openChange, saveChange } from '../../core/session/change-session.ts';
import { grantHosts, settleHosts } from '../../core/session/host-grants.ts';
import type { Presence } from '../../core/session/notification-channel.ts';
import { decideRequest } from '../../core/session/requests.ts';
import { commandLeft, saveRules } from '../../core/session/session-permissions.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { DelayedAnswerRow, GivenAnswer, RequestAddress, StoredRequest } from '../../store/ports/session-port.ts';
import { onEvents, type Store, type Tx } from '../../store/store.ts';
import type { People } from './people.ts';

export interface RequestDeps {
  views: BoardViews;
  approvals: ApprovalService;
  delayedAnswers: DelayedAnswers;
  people: People;
  presence: Presence;
  lostAnswers: LostAnswers;
}

type RequestCommands =
  | 'get_pending'
  | 'take_back_answer'
  | 'set_later'
  | 'update_me'
  | 'tell_looking'
  | 'get_looking'
  | 'get_decisions'
  | 'approve_tool'
  | 'answer_question'
  | 'dismiss_decision'
  | 'retry_decision';

export function requestCommands(deps: RequestDeps): Pick<CommandHandlers, RequestCommands> {
  const { views, approvals, delayedAnswers, people, presence, lostAnswers } = deps;
  return {
    async get_pending({ stageId }, { actor }) {
      const { later } = await people.find(actor.name);
      const pending = await views.pending(stageId);
      return { pending, later: later.filter((one) => stageId === undefined || one.stageId === stageId) };
    },
    set_later: async (wanted, { actor }) => ({ later: await people.setLater(actor.name, wanted) }),
    update_me: async (patch, { actor }) => ({ me: await people.update(actor.name, patch) }),
    async tell_looking({ tabId, at }, { actor }) {
      presence.notify(actor.name, tabId, at);
      return {};
    },
    get_looking: async ({ stageId }, { actor }) => ({ isLooking: presence.isLooking(actor.name, stageId) }),
    get_decisions: views.decisions,
    approve_tool: async ({ stageId, hold = false, ...body }, { actor: { name }, login }) =>
      hold
        ? delayedAnswers.hold(stageId, { command: 'approve', body, device: login?.device }, name)
        : { decision: await approvals.approve(stageId, body, { name, device: login?.device }) },
    answer_question: async ({ stageId, hold = false, ...body }, { actor: { name }, login }) =>
      hold
        ? delayedAnswers.hold(stageId, { command: 'answer', body, device: login?.device }, name)
        : { decision: await approvals.answer(stageId, body, { name, device: login?.device }) },
    take_back_answer: async (wanted, { actor }) => ({ request: await delayedAnswers.withdraw(wanted, actor.name) }),
    dismiss_decision: async ({ stageId, requestId }, { actor }) => ({
      decision: await lostAnswers.dismiss(stageId, requestId, actor.name),
    }),
    retry_decision: ({ stageId, requestId }, { actor }) => lostAnswers.retry(stageId, requestId, actor.name),
  };
}

export interface ApprovalDeps {
  store: Store;
  /** How long a reply waits for the CLI's confirmation. The decision stands either way. */
  confirmationMs: number;
}

/** Who answers, and in which browser or terminal, if known. */
export interface Answerer {
  name: string;
  device?: string | undefined;
}

/**
 * Answers pending requests; a session may have several. The first answer wins; a later one is refused with the decision that
 * stands. An answer is stored before it is sent, so none is lost.
 */
export interface ApprovalService {
  /**
   * Allows or denies a tool call, a plan, a host or an MCP server's form.
   * @throws Rejection `unknown_request` (also for another stage's request), `already_decided` and `request_closed` with the
   *   decision, `answer_held`, `wrong_kind`, `bad_request`
   */
  approve(stageId: StageId, body: ApproveBody, by: Answerer): Promise<Decision>;
  /** Answers a question. @throws as `approve` */
  answer(stageId: StageId, body: AnswerBody, by: Answerer): Promise<Decision>;
  /** Denies an expired request and says that nobody answered. @throws as `approve` */
  expire(request: PendingRequest): Promise<void>;
}

export function createApprovalService({ store, confirmationMs }: ApprovalDeps): ApprovalService {
  /** Stores the decision and its answer in one transaction. Once it commits, the answer is delivered exactly once. */
  const decide = (stageId: StageId, given: GivenAnswer, actor: string): Promise<Decision> =>
    store.transact(
      async (tx) => {
        const stored = await requireOpen(tx, stageId, given.body.requestId);
        return giveAnswer(tx, { stored, actor, ...readAnswer(given, actor) });
      },
      { stage: stageId },
    );

  /** Decides, then waits up to `confirmationMs` for the CLI to confirm, so that the reply can say what really happened. */
  async function settled(stageId: StageId, requestId: RequestId, decide: () => Promise<Decision>): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const unlisten = onEvents(store, ['decision-updated'], ({ data }) => {
      if (data.requestId === requestId && data.stageId === stageId && data.delivery !== 'written') resolve(data);
    });
    try {
      const decision = await decide();
      if (await settlesWithin(promise, confirmationMs)) return requireApplied(await promise);
      return requireApplied((await store.read.requests.findDecision(stageId, requestId)) ?? decision);
    } finally {
      unlisten();
    }
  }

  return {
    approve: (stageId, body, { name, device }) =>
      settled(stageId, body.requestId, () => decide(stageId, { command: 'approve', body, device }, name)),
    answer: (stageId, body, { name, device }) =>
      settled(stageId, body.requestId, () => decide(stageId, { command: 'answer', body, device }, name)),
    async expire({ stageId, requestId }) {
      await store.transact(
        async (tx) => {
          const stored = await requireOpen(tx, stageId, requestId);
          await giveAnswer(tx, { stored, actor: null, answerTo: timeOut });
        },
        { stage: stageId },
      );
    },
  };
}

function requireApplied(decision: Decision): Decision {
  if (decision.delivery !== 'not-applied') return decision;
  const message =
    'Your answer came too late: Claude Code had withdrawn the request, or its process had ended. It was not used.';
  throw new Rejection('request_closed', message, { decision });
}

/** What an answer means. */
interface Deciding {
  /** The browser or terminal in which it was given, if known. */
  device?: string | undefined;
  /** @throws Rejection `wrong_kind`, `bad_request` */
  answerTo: (request: PendingRequest) => Answer;
  /** Hosts that the command may reach while it runs. */
  hosts?: readonly string[] | undefined;
  /** Stored with the decision. */
  alsoStore?: (tx: Tx, request: PendingRequest) => Promise<void>;
}

/** Returns what an answer of this person means. */
function readAnswer(given: GivenAnswer, actor: string): Deciding {
  const { device } = given;
  if (given.command === 'answer') return { device, answerTo: (request) => answerQuestion(request, given.body) };
  const { body } = given;
  return {
    device,
    hosts: body.decision === 'allow' ? body.hosts : undefined,
    answerTo: (request) => (body.decision === 'allow' ? allow(request, body) : deny(request, body)),
    alsoStore: (tx, request) => saveGranted(tx, request, body, actor),
  };
}

interface Giving extends Deciding {
  stored: StoredRequest;
  /** Who answers; null if nobody did in time. */
  actor: string | null;
}

/**
 * Stores the decision on an open request, and its answer in the outbox. Once the transaction commits, the answer is delivered
 * exactly once.
 * @throws as `answerTo`
 */
async function giveAnswer(tx: Tx, giving: Giving): Promise<Decision> {
  const { actor, device, answerTo, hosts = [], alsoStore } = giving;
  const { request, launchId } = giving.stored;
  const { stageId, requestId } = request;
  const { verdict, response } = answerTo(request);
  const body = { kind: 'answer', response: { subtype: 'success', response } } as const;
  const change = await openChange(tx, stageId);
  const decision = await decideRequest(tx, change, request, {
    ...verdict,
    by: actor,
    device,
    ...(hosts.length > 0 && { hosts: [...hosts] }),
    delivery: 'accepted',
  });
  if (hosts.length > 0) grantHosts(change, request.toolUseId, hosts);
  await settleHosts(tx, change); // the process hears of its hosts before it runs the command
  const row = { id: tx.newId(), stageId, launchId, wireId: requestId, body, actor };
  await tx.outbox.insert({ ...row, createdAt: tx.now });
  const input = verdict.updatedInput ?? request.input;
  if (verdict.outcome === 'allowed' && leavesByInput(request.toolName, input))
    commandLeft(change, tx.now, decision.asked);
  await alsoStore?.(tx, request);
  await saveChange(tx, change);
  return decision;
}

/** Keeps the rules that a decision granted. A session outlives its processes, and each process starts without the rules of the previous one. */
async function saveGranted(tx: Tx, request: PendingRequest, body: ApproveBody, by: string): Promise<void> {
  const granted = saved(request, body);
  const stage = granted.length === 0 ? null : await tx.stages.find(request.stageId);
  const expiresAt = body.rememberUntil ?? null; // an instant that has passed keeps rules that have ended
  if (stage !== null) await saveRules(tx, stage, { scope: body.remember ?? 'stage', granted, by, expiresAt });
}

/**
 * Returns the request while it is open and nobody is answering it.
 * @throws Rejection `unknown_request`; with the decision: `already_decided`, `request_closed`; `answer_held`
 */
async function requireOpen(tx: Tx, stageId: StageId, requestId: RequestId): Promise<StoredRequest> {
  const stored = await tx.requests.find(stageId, requestId);
  if (stored === null) {
    throw new Rejection('unknown_request', `${stageId} has no request ${requestId}. It may belong to another stage.`);
  }
  if (stored.decision !== null) throw conflict(stored.decision);
  if (stored.hold !== null) throw isBeingAnswered(stored.hold);
  return stored;
}

/** Refuses whatever else is done with a request while an answer to it is held back. */
function isBeingAnswered({ by, outcome, until }: DelayedAnswerRow): Rejection {
  const message = `${by} is answering this request: it will be ${outcome} at ${until}, unless ${by} takes that back first. Your answer was not used.`;
  return new Rejection('answer_held', message);
}

/** Refuses a later answer with the decision that stands. */
function conflict(decision: Decision): Rejection {
  if (decision.outcome === 'closed') {
    const message = `This request is closed; your answer was not used. ${decision.reason ?? ''}`.trim();
    return new Rejection('request_closed', message, { decision });
  }
  if (decision.outcome === 'timed-out') {
    const message = `This request is closed: it was denied at ${decision.at}, as nobody answered within the time limit. Your answer was not used.`;
    return new Rejection('request_closed', message, { decision });
  }
  const what = `This request was already ${decision.outcome} ${byWhom(decision) || 'by someone'} at ${decision.at}`;
  return new Rejection('already_decided', `${what}; your answer was not used.`, { decision });
}

const NOBODY =
  'Nobody answered within the time limit. This is not a decision of the user: go on without it, or ask again later.';

/**
 * Returns the answer that allows a request.
 * @throws Rejection `wrong_kind` for a question; `bad_request` for an input that would not run, or a field that the CLI would ignore
 */
export function allow(request: PendingRequest, body: ApproveBody): Answer {
  const { allow } = requestKinds[request.kind];
  if (allow === null) {
    const message =
      'This is a question: allowing it without answers would tell Claude that nobody answered. Send the answers instead.';
    throw new Rejection('wrong_kind', message);
  }
  requireThatAllCounts(request, body);
  return allow(request, body);
}

/** The CLI ignores some fields silently, so a person would believe that something was granted or that the turn ended. */
function requireThatAllCounts(
  { suggestions, hosts: named = [] }: PendingRequest,
  { interrupt, updatedPermissions = [], hosts = [] }: ApproveBody,
) {
  const unnamed = hosts.find((host) => !named.includes(host));
  if (unnamed !== undefined) {
    const message = `The request does not name the host "${unnamed}", so nothing was allowed. Send hosts of the request alone.`;
    throw new Rejection('bad_request', message);
  }
  if (interrupt === true) {
    const message = 'interrupt ends the turn, so an allowed call could not run. Leave it out, or deny.';
    throw new Rejection('bad_request', message);
  }
  const problem = permissionUpdatesProblem(updatedPermissions, suggestions);
  if (problem !== null) throw new Rejection('bad_request', problem);
}

/** Returns the rules that outlive the session after this decision. */
export const saved = (request: PendingRequest, body: ApproveBody): SavedRule[] =>
  body.decision === 'allow' ? requestKinds[request.kind].saves(request, body) : [];

/**
 * Returns the answer that denies a request. The model reads the reason word for word unless `interrupt` ends the turn.
 * @throws Rejection `bad_request` for `cancel` of anything but a form
 */
export function deny(
  { kind }: PendingRequest,
  { reason: given, interrupt, cancel }: Pick<ApproveBody, 'reason' | 'interrupt' | 'cancel'>,
): Answer {
  if (cancel === true && kind !== 'elicitation')
    throw new Rejection('bad_request', 'cancel closes a form of an MCP server. Leave it out to deny.');
  const reason = given?.trim() ? given : null;
  const { denialMessage, decline } = requestKinds[kind];
  return {
    verdict: { outcome: 'denied', reason, answers: null, updatedInput: null },
    response: decline(denialMessage(reason), {
      ...(interrupt === undefined ? {} : { interrupt }),
      ...(cancel === undefined ? {} : { cancel }),
    }),
  };
}

/** Returns the answer to an expired request. Its wording differs from a person's denial. */
export const timeOut = ({ kind }: PendingRequest): Answer => ({
  verdict: { outcome: 'timed-out', reason: NOBODY, answers: null, updatedInput: null },
  response: requestKinds[kind].decline(NOBODY),
});

/**
 * Returns the answer with a person's answers to a question.
 * @throws Rejection `wrong_kind` if the request is not a question; `bad_request` unless exactly the questions asked are answered
 */
export function answerQuestion(request: PendingRequest, body: AnswerBody): Answer {
  const { answer } = requestKinds[request.kind];
  if (answer !== null) return answer(request, body);
  const message = `This is a request to use ${request.displayName}, not a question. Allow or deny it.`;
  throw new Rejection('wrong_kind', message);
}

/** Answers that are kept back for a moment, so that their person can take them back. */
export interface DelayedAnswers {
  /**
   * Stores an answer and keeps it back. It is sent once, when its time is over or at the next start if that is later, unless
   * it is taken back or the request is closed first. Until then it reserves the request. Repeating the same answer changes nothing.
   * @throws Rejection as `ApprovalService.approve`; `answer_held` if another answer is held back
   */
  hold(stageId: StageId, given: GivenAnswer, actor: string): Promise<z.infer<typeof DelayedReply>>;
  /**
   * Forgets the answer that this person gave, and returns the open request. Returns it as it is if nothing is held back.
   * @throws Rejection `unknown_request`; with the decision: `already_decided`, `request_closed`; `answer_held` if it is
   *   another person's
   */
  withdraw(wanted: CommandInput<'take_back_answer'>, actor: string): Promise<PendingRequest>;
  /** Sends nothing any more; what is held back is sent at the next start. */
  stop(): void;
}

/** Answers whose process ended before it confirmed them. A person settles each one once. */
export interface LostAnswers {
  /**
   * Dismisses the answer and sends nothing. An answer that was already dismissed is returned unchanged.
   * @throws Rejection `unknown_request` (also for another stage's request); with the decision: `nothing_to_settle`, `already_settled`
   */
  dismiss(stageId: StageId, requestId: RequestId, actor: string): Promise<Decision>;
  /**
   * Sends Claude a message that says what was decided and that it may not have arrived. Stores message and settlement in one
   * transaction. It allows nothing.
   * @throws as `dismiss`, and Rejection `already_done` for a stage that is done
   */
  retry(stageId: StageId, requestId: RequestId, actor: string): Promise<Retried>;
}

interface Retried {
  decision: Decision;
  message: SendMessageReply;
}

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
