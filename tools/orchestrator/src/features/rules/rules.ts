import type {
  CommandInput,
  CommandReply,
  DryRun,
  PendingRequest,
  PermissionRule,
  ProjectId,
  RequestId,
  RuleLocation,
  RuleOffer,
  StageId,
} from '@callboard/contract';
import { createReconciler } from '@callboard/runtime/reconciler';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { SessionExecutor } from '../../core/executor/session-executor.ts';
import { risksOf } from '../../core/permissions/risk.ts';
import {
  hasPart,
  isExact,
  RULE,
  ruleMatch,
  splitCommand,
  type ToolCall,
  webHost,
} from '../../core/permissions/rule-match.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { addNotice } from '../../core/session/session-change.ts';
import { notifyRules, saveRules } from '../../core/session/session-permissions.ts';
import { createYield } from '../../lib/async.ts';
import { ProtocolError, Rejection } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { AnsweredCall, StoredRequest } from '../../store/ports/session-port.ts';
import { onEvents, requireProject, requireStage, type Store, type Tables } from '../../store/store.ts';

/** The permission rules that people grant: their list, their use, their end, and what they would have done. */
export interface Rules {
  /** Returns the rules that apply, with their use, and the newest that have ended. @throws Rejection `unknown_project` */
  list(projectId: ProjectId | undefined): Promise<CommandReply<'list_rules'>>;
  /** Grants a rule, or gives it a new end date. @throws Rejection `unknown_stage`, `unknown_project`, `bad_request` */
  add(wanted: CommandInput<'add_rule'>, actor: string): Promise<PermissionRule>;
  /** Ends a rule. @throws Rejection `unknown_rule` */
  remove(ruleId: string, actor: string): Promise<PermissionRule>;
  /** Returns what a rule would have done. Changes nothing. @throws Rejection `unknown_stage`, `unknown_project` */
  dryRun(wanted: CommandInput<'rehearse_rule'>): Promise<CommandReply<'rehearse_rule'>>;
  /** Returns exact rules for a request that was allowed three times; null if there are none. @throws as `ruleOffer` */
  offer(of: CommandInput<'get_rule_offer'>): Promise<CommandReply<'get_rule_offer'>>;
  /** Puts an offer away. @throws Rejection `unknown_project` */
  dismiss(offer: CommandInput<'dismiss_rule_offer'>): Promise<void>;
}

interface RulesDeps {
  store: Store;
  platform: { now(): Date };
  /** Resolves once running sessions have the rules as they are now. */
  settle: () => Promise<void>;
}

/** How many ended rules are listed. */
const LISTED = 50;

export function createRules({ store, platform, settle }: RulesDeps): Rules {
  const { read } = store;
  const now = () => platform.now().toISOString();
  return {
    async list(projectId) {
      if (projectId !== undefined) await requireProject(read, projectId);
      const all = await read.rules.listAll(projectId);
      const at = now();
      const applies = (rule: PermissionRule) =>
        rule.endedAt === null && (rule.expiresAt === null || rule.expiresAt > at);
      const endOf = ({ endedAt, expiresAt }: PermissionRule) => endedAt ?? expiresAt ?? '';
      const ended = all.filter((rule) => !applies(rule)).toSorted((a, b) => endOf(b).localeCompare(endOf(a)));
      const withUse = read.rules.withUse;
      return { rules: await withUse(all.filter(applies)), ended: await withUse(ended.slice(0, LISTED)) };
    },
    async add({ rule, scope: place, expiresAt }, by) {
      if (expiresAt !== undefined && expiresAt <= now())
        throw new Rejection('bad_request', 'expiresAt has passed already. Choose a later instant, or leave it out.');
      const [saved] = await store.transact(async (tx) => {
        const { projectId, stageId } = await locationOf(tx, place);
        const granted = [{ kind: 'allow', rule } as const];
        const scope = stageId === null ? 'project' : 'stage';
        return saveRules(
          tx,
          { projectId, id: stageId },
          { scope, granted, by, expiresAt: expiresAt ?? null, mayShorten: true },
        );
      });
      if (saved === undefined) throw new Error('a granted rule was not kept');
      await settle();
      return saved;
    },
    async remove(ruleId, actor) {
      const removed = await store.transact(async (tx) => {
        const rule = await tx.rules.find(ruleId);
        if (rule === null || rule.endedAt !== null)
          throw new Rejection('unknown_rule', `There is no rule ${ruleId}; it may have been removed already.`);
        const ended = { ...rule, endedAt: tx.now, endedBy: actor };
        await tx.rules.save(ended);
        await notifyRules(tx, rule.projectId);
        return ended;
      });
      await settle();
      return removed;
    },
    async dryRun({ rule, scope, along = [] }) {
      const { projectId, stageId } = await locationOf(read, scope);
      const known =
        stageId === null ? read.rules.listOf(projectId, now()) : read.rules.listFor(projectId, stageId, now());
      const wide = (await known).filter((one) => stageId !== null || one.stageId === null);
      const others = [...along, ...allowRules(wide)].filter((other) => other !== rule);
      return dryRun(read, { rule, projectId, stageId: stageId ?? undefined, others });
    },
    offer: async (of) => ({ offer: await ruleOffer(read, of, now()) }),
    async dismiss({ projectId, rules }) {
      const counted = await Promise.all(
        rules.map(async (rule) => ({ rule, times: await timesAllowed(read, projectId, rule) })),
      );
      await store.transact(async (tx) => {
        await requireProject(tx, projectId);
        for (const { rule, times } of counted) await tx.rules.saveDismissal(projectId, rule, times);
      });
    },
  };
}

/** @throws Rejection `unknown_stage`, `unknown_project` */
async function locationOf(
  tables: Pick<Tables, 'stages' | 'projects'>,
  location: RuleLocation,
): Promise<{ projectId: ProjectId; stageId: StageId | null }> {
  if ('stageId' in location) {
    const { projectId } = await requireStage(tables, location.stageId);
    return { projectId, stageId: location.stageId };
  }
  await requireProject(tables, location.projectId);
  return { projectId: location.projectId, stageId: null };
}

/** After how many allowances a rule is offered, and after how many more once its offer was put away. */
const HABIT = 3;
const HABIT_AGAIN = 10;
/** How many of the newest requests are searched: an older habit is none. */
const NEWEST = 5_000;

type Read = Pick<Tables, 'requests' | 'rules' | 'stages'>;

/**
 * Returns exact rules for a request that people have allowed three times in its project and not denied since. Null where no rule
 * should be offered: Claude Code wants none, the command leaves the sandbox or reaches a path outside, or it has no exact rule.
 * @throws Rejection `unknown_stage`, `unknown_request`
 */
async function ruleOffer(
  read: Read,
  { stageId, requestId }: { stageId: StageId; requestId: RequestId },
  at: string,
): Promise<RuleOffer | null> {
  const stored = await read.requests.find(stageId, requestId);
  if (stored === null) {
    throw new Rejection('unknown_request', `${stageId} has no request ${requestId}. It may belong to another stage.`);
  }
  const { projectId, worktree } = await requireStage(read, stageId);
  const wanted = mayBeRule(stored, worktree?.path ?? null) ? exactRules(stored.request) : null;
  if (wanted === null) return null;
  const known = allowRules(await read.rules.listFor(projectId, stageId, at));
  const rules = wanted.filter((rule) => !known.some((other) => ruleMatch(other, callOf(rule)) === 'yes'));
  if (rules.length === 0) return null;
  const times = Math.min(...(await Promise.all(rules.map((rule) => timesAllowed(read, projectId, rule)))));
  if (times < HABIT) return null;
  const dismissals = await read.rules.dismissals(projectId, rules);
  const isPutAway = rules.some((rule) => times < (dismissals.get(rule) ?? -HABIT_AGAIN) + HABIT_AGAIN);
  return isPutAway ? null : { projectId, stageId, rules, times };
}

const mayBeRule = ({ request, decision }: StoredRequest, worktree: string | null): boolean =>
  request.kind === 'approval' && isRulable(request, worktree) && (decision === null || decision.outcome === 'allowed');

const isRulable = (
  { suppressAlwaysAllow, leavesSandbox, blockedPath, suggestions }: PendingRequest,
  worktree: string | null,
): boolean =>
  !suppressAlwaysAllow &&
  leavesSandbox === null &&
  suggestions.length > 0 &&
  (blockedPath === null || (worktree !== null && `${blockedPath}/`.startsWith(`${worktree}/`)));

/** The call that an exact rule stands for. */
function callOf(rule: string): ToolCall {
  const [, toolName = rule, content = ''] = /^([^()]+)\((.*)\)$/s.exec(rule) ?? [];
  if (toolName === 'Bash') return { toolName, input: { command: content } };
  return { toolName, input: { url: `https://${content.replace(/^domain:/, '')}/` } };
}

/** How often people allowed what an exact rule stands for, since they last denied it. */
async function timesAllowed(read: Pick<Tables, 'requests'>, projectId: ProjectId, rule: string): Promise<number> {
  const { toolName, input } = callOf(rule);
  const to = await read.requests.newestOrdinal();
  const text = textOf(toolName, input);
  const calls = await read.requests.answeredCalls({ projectId, from: Math.max(1, to - NEWEST), to, toolName, text });
  let times = 0;
  for (const call of calls) {
    if (!hasPart(rule, call)) continue;
    if (call.outcome === 'denied') break;
    if (call.outcome === 'allowed' && call.isRulable && !call.isBarred) times += 1;
  }
  return times;
}

/** What the stored request of such a call contains. */
function textOf(toolName: string, { command, url }: ToolCall['input']): string | undefined {
  if (toolName === 'Bash') return JSON.stringify(command).slice(1, -1);
  return toolName === 'WebFetch' && typeof url === 'string' ? new URL(url).hostname : undefined;
}

/** Tools whose name alone is the exact rule: what they do is up to a server, and Claude Code compares nothing else. */
const isWhole = (toolName: string): boolean => toolName === 'WebSearch' || /^mcp__[\w-]+__[\w.-]+$/.test(toolName);
const HOST = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;

/**
 * The rules that match a tool call and as little else as possible: one for each part of a compound command that does more than
 * read. Null if there is no such rule, as for a command with a redirection, a substitution or a variable.
 */
export function exactRules({ toolName, input }: ToolCall): string[] | null {
  if (toolName === 'Bash') return exactCommands(input.command);
  if (isWhole(toolName)) return [toolName];
  if (toolName !== 'WebFetch' || typeof input.url !== 'string') return null;
  const host = webHost(input.url);
  return host !== null && HOST.test(host) ? [`WebFetch(domain:${host})`] : null;
}

function exactCommands(command: unknown): string[] | null {
  const split = typeof command === 'string' ? splitCommand(command) : null;
  if (split === null || split.isRedirected || !split.parts.every(isExact)) return null;
  const acting = split.parts.filter((part) => split.parts.length === 1 || !onlyReads(part));
  return acting.length === 0 ? null : [...new Set(acting)].map((part) => `Bash(${part})`);
}

const onlyReads = (command: string): boolean =>
  risksOf({ kind: 'approval', toolName: 'Bash', input: { command }, blockedPath: null }, null).length === 0;

interface DryRunResult {
  rule: string;
  projectId: ProjectId;
  /** Undefined for the whole project. */
  stageId: StageId | undefined;
  /** Rules that apply as well, or would be granted with it. */
  others: readonly string[];
}

/** How many requests are read at once, and how many in all, the newest first. */
const SLICE = 1_000;
const MAX = 100_000;
/** How many denials are listed. */
const CALLS_LISTED = 100;

/** The tools whose calls a rule may cover, of those that people are asked about. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  Edit: ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'],
  Read: ['Read', 'Glob', 'Grep'],
};

/**
 * Plays a rule against the decision log. What it counts as answered, the rule would surely have answered (see `ruleMatch`).
 * Reads in slices and lets others work in between.
 */
async function dryRun(read: Pick<Tables, 'requests'>, dryRunResult: DryRunResult): Promise<DryRun> {
  const { projectId, stageId, rule } = dryRunResult;
  const yieldToEventLoop = createYield();
  const newest = await read.requests.newestOrdinal();
  const end = Math.max(0, newest - MAX);
  const result: DryRun = emptyDryRun();
  let oldest: string | null = null;
  const tools = toolsOf(rule);
  const text = ruleText(rule);
  for (let to = newest; to > end; to -= SLICE) {
    await yieldToEventLoop();
    const range = { projectId, stageId, from: Math.max(end + 1, to - SLICE + 1), to };
    const counted = await read.requests.countAnswered(range);
    if (counted.count === 0) continue;
    result.waits += counted.count;
    oldest = counted.oldest ?? oldest;
    for (const toolName of tools) {
      for (const call of await read.requests.answeredCalls({ ...range, toolName, text })) {
        await yieldToEventLoop();
        count(result, call, dryRunResult);
      }
    }
  }
  return { ...result, since: end > 0 ? oldest : null };
}

const emptyDryRun = (): DryRun => ({
  waits: 0,
  answered: 0,
  waitedMs: 0,
  unsure: 0,
  wouldAllowDenied: [],
  denied: 0,
  since: null,
});

function toolsOf(rule: string): readonly string[] {
  const name = RULE.exec(rule.trim())?.[1] ?? '';
  return FAMILIES[name] ?? [name];
}

/** What the stored request of every call contains that the rule may cover; undefined where that is not known. */
function ruleText(rule: string): string | undefined {
  const [, name, content = ''] = RULE.exec(rule.trim()) ?? [];
  const literal = name === 'Bash' ? content.replace(/:\*$/, '*').split('*', 1)[0]?.trimEnd() : '';
  return literal ? JSON.stringify(literal).slice(1, -1) : undefined;
}

function count(result: DryRun, call: AnsweredCall, { rule, others }: DryRunResult): void {
  if (call.isBarred) return;
  const found = ruleMatch(rule, call, others);
  if (found === 'no') return;
  if (found === 'unsure' || !call.isRulable) {
    result.unsure += 1;
    return;
  }
  result.answered += 1;
  result.waitedMs += call.waitedMs;
  if (call.outcome !== 'denied') return;
  result.denied += 1;
  const { stageId, requestId, stageTitle, asked, by, at, reason } = call;
  if (result.wouldAllowDenied.length < CALLS_LISTED)
    result.wouldAllowDenied.push({ stageId, requestId, stageTitle, asked, by, at, reason });
}

/** The allow rules among these, as Claude Code writes them. */
export const allowRules = (rules: readonly PermissionRule[]): string[] =>
  rules.flatMap(({ kind, rule }) => (kind === 'allow' ? [rule] : []));

interface LiveRulesDeps {
  store: Store;
  platform: Pick<Platform, 'now'>;
  log: Logger;
  running: () => Iterable<Pick<SessionExecutor, 'launch' | 'request'>>;
}

/** Keeps the rules of running sessions as they are in the store, and ends those whose end date has come. */
export interface LiveRules {
  /** Resolves once every running session has the rules as they are now, or has not answered in time. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/** What changes for a process after its launch. `ask` wins over what it was given (CLI 2.1.330, tried). */
interface Overlay {
  allow: string[];
  ask: string[];
}

const CHECK_INTERVAL_MS = 1_000;
/** How long Claude Code may take to take over rules. */
const CONFIRMATION_MS = 10_000;
/** How long somebody waits for that at most: the rules are stored either way. */
const SETTLE_MS = 2_000;

/**
 * The store is the truth: what a process must be told follows from the rules and the time of its launch alone, so a pass that is
 * repeated after a crash tells the same.
 */
export function startLiveRules({ store, platform, log, running }: LiveRulesDeps): LiveRules {
  /** By launch: what its process was told. */
  const reported = new Map<string, string>();
  let nextEnd: string | null = '';
  const now = () => platform.now().toISOString();

  async function pass(): Promise<void> {
    await endExpired();
    const executors = [...running()];
    const living = new Set(executors.map(({ launch }) => String(launch.id)));
    for (const id of reported.keys()) if (!living.has(id)) reported.delete(id);
    await Promise.all(executors.map(notify));
  }

  async function endExpired(): Promise<void> {
    const at = now();
    const ending = await store.read.rules.listEnding();
    const due = ending.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= at);
    const ends = ending.flatMap(({ expiresAt }) => (expiresAt !== null && expiresAt > at ? [expiresAt] : []));
    nextEnd = ends.toSorted()[0] ?? null;
    if (due.length === 0) return;
    await store.transact(async (tx) => {
      for (const { ruleId } of due) {
        const rule = await tx.rules.find(ruleId);
        const isStillDue = rule?.endedAt === null && rule.expiresAt !== null && rule.expiresAt <= at;
        if (isStillDue) await tx.rules.save({ ...rule, endedAt: rule.expiresAt });
      }
      for (const projectId of new Set(due.map((rule) => rule.projectId))) await notifyRules(tx, projectId);
    });
  }

  async function notify(executor: Pick<SessionExecutor, 'launch' | 'request'>): Promise<void> {
    const { id, stageId, createdAt } = executor.launch;
    const stage = await store.read.stages.find(stageId);
    if (stage === null) return;
    const rules = await store.read.rules.listEver(stage.projectId, stageId);
    const overlay = overlayOf(rules, createdAt, now());
    const wanted = JSON.stringify(overlay);
    const isNew = overlay.allow.length > 0 || overlay.ask.length > 0;
    if (reported.get(id) === wanted || (!reported.has(id) && !isNew)) return void reported.set(id, wanted);
    const settings = { permissions: overlay };
    try {
      await executor.request({ subtype: 'apply_flag_settings', settings }, AbortSignal.timeout(CONFIRMATION_MS));
    } catch (error) {
      if (!(error instanceof ProtocolError) || error.code !== 'refused') {
        log.debug({ err: error, stageId }, 'telling a session its rules failed');
        return; // its process is gone, or is told again with the next look
      }
      await store.transact((tx) => changeSession(tx, stageId, (change) => addNotice(change, tx.now, NOT_REPORTED)));
    }
    reported.set(id, wanted);
  }

  const worker = createReconciler(pass, (error) => log.error({ err: error }, 'keeping rules up to date failed'), {
    on: (schedule) => [
      onEvents(store, ['rules-updated'], schedule),
      store.onEpoch(schedule),
      () => clearInterval(timer),
    ],
  });
  const isDue = () =>
    (nextEnd !== null && nextEnd <= now()) || [...running()].some(({ launch }) => !reported.has(String(launch.id)));
  const timer = setInterval(() => {
    if (isDue()) worker.schedule();
  }, CHECK_INTERVAL_MS).unref();
  return {
    async settle() {
      worker.schedule();
      await settlesWithin(worker.drain(), SETTLE_MS);
    },
    stop: worker.stop,
  };
}

const NOT_REPORTED = {
  level: 'warning',
  code: 'rules-not-told',
  text: 'Rules have changed, but this Claude Code did not pick up the change. It takes effect in this session once its process ends: stop the stage and send a message.',
} as const;

/** What a process must be told, given what it got at its launch. */
function overlayOf(rules: readonly PermissionRule[], launchedAt: string, at: string): Overlay {
  const endOf = ({ endedAt, expiresAt }: PermissionRule) =>
    endedAt ?? (expiresAt !== null && expiresAt <= at ? expiresAt : null);
  const applying = rules.filter((rule) => endOf(rule) === null);
  const valid = new Set(allowRules(applying));
  const ended = rules.filter((rule) => (endOf(rule) ?? '') >= launchedAt);
  return {
    allow: [...new Set(allowRules(applying.filter(({ createdAt }) => createdAt >= launchedAt)))],
    ask: [...new Set(allowRules(ended).filter((rule) => !valid.has(rule)))],
  };
}
