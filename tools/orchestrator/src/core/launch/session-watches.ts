import { matchesGlob } from 'node:path';
import {
  awaitsTasks,
  isChecking,
  type LaunchId,
  RequestId,
  type StageId,
  type TranscriptEntry,
} from '@callboard/contract';
import { createReconciler } from '@callboard/runtime/reconciler';
import { z } from 'zod';
import { placeholderText } from '../../platform/git/locate-checkout.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { LowPriorityWork } from '../executor/low-priority-work.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';
import { ruleCovers, type ToolCall } from '../permissions/rule-match.ts';
import { changeSession } from '../session/change-session.ts';
import { updateDecision } from '../session/requests.ts';
import { addNotice } from '../session/session-change.ts';
import { denialId, nameDenial } from '../session/tool-calls.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';

export interface BackgroundSyncDeps {
  store: Pick<Store, 'onUnsynced' | 'sync'>;
  log: Logger;
  /** How long a commit without a sync of its own may wait for one. */
  everyMs: number;
  running: () => readonly Pick<SessionExecutor, 'launch' | 'spool'>[];
}

/**
 * Syncs commits that had no sync of their own: first the spools they came from, so that the store never knows more than
 * the spools hold, then the store. Nothing runs while there is nothing to sync. The store reports a failure like that of any
 * other write, and the sync is retried.
 */
export function startBackgroundSync({ store, log, everyMs, running }: BackgroundSyncDeps): {
  stop(): Promise<void>;
} {
  /** How far each spool was read when it was last synced. */
  let synced = new Map<LaunchId, number>();

  const syncing = createReconciler(
    async () => {
      const spools = running().map(({ launch, spool }) => ({ id: launch.id, ...spool() }));
      const grown = spools.filter(({ id, readTo }) => readTo !== synced.get(id));
      await store.sync(grown.map(({ path }) => path));
      synced = new Map(spools.map(({ id, readTo }) => [id, readTo]));
    },
    (error) => {
      log.info({ err: error }, 'a background sync failed; retrying');
      syncing.scheduleIn(everyMs);
    },
    { on: () => [store.onUnsynced(() => syncing.scheduleIn(everyMs))] },
  );
  return { stop: syncing.stop };
}

type ToolUse = Extract<TranscriptEntry, { kind: 'tool-use' }>;

interface DenyingRuleLookupDeps {
  store: Store;
  log: Logger;
  /** What `~` in a rule stands for. */
  home: string;
  running: () => Iterable<Pick<SessionExecutor, 'launch' | 'request'>>;
  lowPriorityWork: Pick<LowPriorityWork, 'add'>;
}

/** Claude Code is asked during a turn only if the turn takes long. */
const LATEST_MS = 5_000;

/**
 * Finds out which rule denied a call: Claude Code does not say, but lists its rules. If only one of them can have denied it,
 * the decision names that rule; otherwise it stays as it is.
 * @returns a function to call with each call that a rule denied
 */
export function createDenyingRuleLookup({ store, log, home, running, lowPriorityWork }: DenyingRuleLookupDeps) {
  async function find(stageId: StageId, toolUseId: string): Promise<void> {
    const call = await store.read.transcript.findCall(stageId, toolUseId);
    if (call === null) return;
    lowPriorityWork.add(stageId, `rule for ${toolUseId}`, (signal) => name(stageId, call, signal), LATEST_MS);
  }

  async function name(stageId: StageId, call: ToolUse, signal: AbortSignal): Promise<void> {
    const executor = [...running()].find(({ launch }) => launch.stageId === stageId);
    if (executor === undefined) return;
    const rules = await listActiveRules(executor, AbortSignal.any([signal, AbortSignal.timeout(RULES_REPLY_MS)]));
    const denying = rules.filter(({ behavior }) => behavior === 'deny');
    const found = denyingRule(
      denying.map(({ rule }) => rule),
      call,
      home,
    );
    if (found === null) return;
    const sources = new Set(denying.flatMap(({ rule, source }) => (rule === found ? [source] : [])));
    const [source] = sources;
    const named = { detail: found, ...(sources.size === 1 && source !== undefined && { settings: source }) };
    await store.transact(
      async (tx) => {
        const decision = await tx.requests.findDecision(stageId, RequestId.parse(denialId(call.toolUseId)));
        if (decision?.denial == null || decision.denial.detail !== null) return;
        await updateDecision(tx, { ...decision, denial: { ...decision.denial, ...named } });
        await changeSession(tx, stageId, (change) => nameDenial(change, call.toolUseId, named));
      },
      { sync: 'later' },
    );
  }

  return (stageId: StageId, toolUseId: string): void => {
    find(stageId, toolUseId).catch((error: unknown) =>
      log.debug({ err: error, stageId }, 'looking up the rule that denied a call failed'),
    );
  };
}

/** A file tool's rule with a path from the root (`//etc/**`) or from the home folder (`~/secret/**`). */
const PLACED = /^[^(]+\((\/\/|~\/)(.*)\)$/s;
const FILE_FIELDS = ['file_path', 'notebook_path', 'path'] as const;

/**
 * The deny rule that matches a denied call; null when none of the rules matches, or more than one. For file tools only
 * absolute paths are compared: a rule does not say what its relative path is relative to.
 */
export function denyingRule(rules: readonly string[], call: ToolCall, home: string): string | null {
  const fitting = [...new Set(rules)].filter((rule) => ruleCovers(rule, call) && mayFit(rule, call, home));
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}

function mayFit(rule: string, { toolName, input }: ToolCall, home: string): boolean {
  const path = FILE_FIELDS.map((field) => input[field]).find((value) => typeof value === 'string');
  const [, start, rest = ''] = PLACED.exec(rule.trim()) ?? [];
  if (toolName === 'Bash' || path === undefined || start === undefined) return true;
  const pattern = start === '//' ? `/${rest}` : `${home}/${rest}`;
  return matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`);
}

/** How long Claude Code may take to list its rules. */
export const RULES_REPLY_MS = 10_000;

const RulesReply = z.object({
  response: z.object({
    state: z.object({
      rules: z.array(z.object({ behavior: z.string(), source: z.string().optional(), rule: z.string() })),
    }),
  }),
});

/** A rule that Claude Code reports as active; `source` names the settings that it comes from. */
export type ActiveRule = z.infer<typeof RulesReply>['response']['state']['rules'][number];

/** Returns the rules that Claude Code reports as active; none if the reply is unexpected. @throws as `SessionExecutor.request` */
export async function listActiveRules(
  executor: Pick<SessionExecutor, 'request'>,
  signal: AbortSignal,
): Promise<readonly ActiveRule[]> {
  const reply = await executor.request({ subtype: 'list_permission_rules' }, signal);
  return RulesReply.safeParse(reply).data?.response.state.rules ?? [];
}

export interface IdleWatchDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  /** How long a session may be idle before its process is ended. */
  idleMs: number;
  endIdle: (stageId: StageId) => Promise<void>;
}

const CHECK_INTERVAL_MS = 30_000;

/**
 * Ends processes that have been idle for long; a waiting session is never idle. The time counts from when the session was
 * first seen idle, by the monotonic clock: a jump of the time of day ends nothing.
 */
export function startIdleWatch({ store, platform, log, idleMs, endIdle }: IdleWatchDeps): {
  stop: () => void;
  endAllIdle: () => Promise<void>;
} {
  /** For each idle session, its stored `stateSince`, and when it was first seen idle, in `uptimeMs`. */
  const seen = new Map<StageId, { stateSince: string; at: number }>();

  async function endIdleFor(ms: number): Promise<void> {
    for (const { stageId, state, stateSince } of await store.read.sessions.list()) {
      if (state !== 'idle') {
        seen.delete(stageId);
        continue;
      }
      const known = seen.get(stageId);
      const since = known?.stateSince === stateSince ? known : { stateSince, at: platform.uptimeMs() };
      seen.set(stageId, since);
      if (platform.uptimeMs() - since.at >= ms) await endOne(stageId);
    }
  }

  /** A session that does not end does not delay the others. */
  async function endOne(stageId: StageId): Promise<void> {
    try {
      await endIdle(stageId);
    } catch (error) {
      log.error({ err: error, stageId }, 'ending an idle session failed');
    }
  }
  const checks = createReconciler(
    () => endIdleFor(idleMs),
    (error) => log.error({ err: error }, 'ending idle sessions failed'),
    { everyMs: CHECK_INTERVAL_MS },
  );
  return { endAllIdle: () => endIdleFor(0), stop: () => void checks.stop() };
}

/**
 * Returns a function that says in a stage's transcript that placeholders of the sandbox were committed, once for the same files. It
 * gets the newest commit of the stage's branch, and looks into each commit once.
 */
export function createPlaceholderWatch({ store, worktrees }: { store: Store; worktrees: Worktrees }) {
  const reported = new Map<StageId, string>();
  const looked = new Map<StageId, string>();
  return async (stageId: StageId, head: string): Promise<void> => {
    const worktree = (await store.read.stages.find(stageId))?.worktree ?? null;
    if (worktree === null || head === (looked.get(stageId) ?? worktree.base)) return;
    const files = await worktrees.committedPlaceholders(worktree, head);
    looked.set(stageId, head);
    const key = files.join('\0');
    if (key === (reported.get(stageId) ?? '')) return;
    reported.set(stageId, key);
    if (files.length === 0) return;
    const text = `${placeholderText(files)} Where the stage is completed, one press takes them out.`;
    await store.transact(async (tx) => {
      if ((await tx.sessions.find(stageId)) === null) return; // the stage was deleted meanwhile
      await changeSession(tx, stageId, (change) =>
        addNotice(change, tx.now, { level: 'warning', code: 'placeholders-committed', text }),
      );
    });
  };
}

/** The parts of a running session that the watch uses. */
interface Heard extends Pick<SessionExecutor, 'lastHeard'> {
  readonly launch: Pick<SessionExecutor['launch'], 'stageId'>;
}

export interface SilenceWatchDeps {
  store: Store;
  log: Logger;
  /** How long a busy session may be silent. */
  silenceMs: number;
  checkIntervalMs: number;
  running: () => Iterable<Heard>;
  /** Called when a session has become silent: its output may have been lost. */
  onSilent: (stageId: StageId) => void;
}

/**
 * Whether output is expected of a session. Of a background command nobody knows whether it is a dev server, so a person is asked
 * about it, once: whatever they say marks it.
 */
const isExpectedToWork = (record: SessionRecord): boolean =>
  record.state === 'busy'
    ? !isChecking(record)
    : awaitsTasks(record) && record.backgroundTasks.some(({ mark }) => mark === null);

/**
 * Marks a busy session that has printed nothing for long, and removes the mark when it prints again; ends nothing. Sessions
 * that wait for a person may be silent, so a silent session is asked once for its open requests.
 */
export function startSilenceWatch({ store, log, silenceMs, checkIntervalMs, running, onSilent }: SilenceWatchDeps): {
  stop: () => void;
} {
  async function check(): Promise<void> {
    for (const executor of running()) {
      const { stageId } = executor.launch;
      const record = await store.read.sessions.find(stageId);
      if (record === null) continue;
      const { at, silentMs } = executor.lastHeard();
      const isSilent = isExpectedToWork(record) && silentMs >= silenceMs;
      const stalledSince = isSilent ? at.toISOString() : null;
      if (stalledSince === record.stalledSince) continue;
      await store.transact(
        (tx) =>
          changeSession(tx, stageId, (change) => {
            change.record = { ...change.record, stalledSince };
          }),
        { sync: 'later' },
      );
      if (isSilent) onSilent(stageId);
    }
  }

  // One look at a time, however slow the store is: two would ask a silent session twice.
  const checks = createReconciler(check, (error) => log.error({ err: error }, 'checking for silent sessions failed'), {
    everyMs: checkIntervalMs,
  });
  return { stop: () => void checks.stop() }; // the store ends a look that hangs
}
