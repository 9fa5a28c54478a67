import type { PermissionRule } from '@callboard/contract';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { changeSession } from '../domain/change-session.ts';
import { notifyRules } from '../domain/permission-rules.ts';
import { addNotice } from '../domain/session-change.ts';
import type { Platform } from '../lib/edges.ts';
import { ProtocolError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import type { SessionExecutor } from '../sessions/executor/session-executor.ts';
import type { Store } from '../store/store.ts';
import { allowRules } from './rehearse.ts';

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

  const worker = createCoalescingWorker(pass, (error) => log.error({ err: error }, 'keeping rules up to date failed'));
  const unlisten = store.onEvent(({ type }) => {
    if (type === 'rules-updated') worker.schedule();
  });
  const unlistenEpoch = store.onEpoch(worker.schedule);
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
    async stop() {
      clearInterval(timer);
      unlisten();
      unlistenEpoch();
      await worker.stop();
    },
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
