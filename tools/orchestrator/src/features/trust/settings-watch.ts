import type { StageId } from '@callboard/contract';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { SessionExecutor } from '../../core/executor/session-executor.ts';
import { listActiveRules, RULES_REPLY_MS } from '../../core/launch/session-watches.ts';
import { ruleCovers } from '../../core/permissions/rule-match.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { type Alarm, alarmOf } from '../../core/session/requests.ts';
import { addNotice, type Notice } from '../../core/session/session-change.ts';
import { loosenIsolation } from '../../core/session/session-permissions.ts';
import { signOf } from '../../platform/files.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { AddedSetting, Trust } from './trust.ts';

export interface SettingsWatchDeps {
  store: Store;
  trust: Pick<Trust, 'addedSince' | 'newlyExcluded' | 'settingsPaths'>;
  platform: Pick<Platform, 'uptimeMs'>;
  log: Logger;
  checkIntervalMs: number;
  running: () => Iterable<Pick<SessionExecutor, 'launch' | 'request'>>;
  raiseAlarm: (stageId: StageId, alarm: Alarm) => Promise<void>;
}

/** Watches settings files while sessions run. */
export interface SettingsWatch {
  /** A permission rule let this call run. */
  onRuleUsed(stageId: StageId, toolUseId: string): void;
  /** A hook let a call run. Raises an alarm if hooks were added since the launch, because nothing says which hook it was. */
  onHookUsed(stageId: StageId): void;
  stop(): void;
}

interface Read {
  paths: readonly string[];
  sign: string;
  /** Whether the sign was the same at the check before: a second write within one tick of the file system's clock does not change it. */
  isSure: boolean;
  /** In `uptimeMs`. */
  at: number;
}

/** The sources that are files: only there can someone have added a rule unnoticed. */
const FILES: ReadonlySet<string | undefined> = new Set(['userSettings', 'projectSettings', 'localSettings']);
/** How often unchanged files are read: a process that maps a file into memory can change it without changing its sign. */
const READ_AGAIN_MS = 30_000;

type Watched = Pick<SessionExecutor, 'launch' | 'request'>;

/**
 * Watches the settings files of running sessions. New settings are reported in the transcript, once. It raises an alarm if
 * a tool ran under a rule that is newer than the launch and that nobody has agreed to, or if a hook allowed a tool while
 * there are such hooks.
 */
export function startSettingsWatch(deps: SettingsWatchDeps): SettingsWatch {
  const { trust, platform, log, checkIntervalMs, running } = deps;
  const changes = createSettingsChanges(deps);
  /** By launch: its files when they were last read. */
  const read = new Map<string, Read>();

  async function check(): Promise<void> {
    const executors = [...running()];
    for (const executor of executors) await checkIfChanged(executor);
    const living = new Set(executors.map(({ launch }) => String(launch.id)));
    changes.forgetAllBut(living);
    for (const id of read.keys()) if (!living.has(id)) read.delete(id);
  }

  /** Reads the files only if they may have changed. They rarely have, and finding that out costs a few microseconds a file. */
  async function checkIfChanged(executor: Watched): Promise<void> {
    const { id, stageId } = executor.launch;
    const before = read.get(id);
    const now = platform.uptimeMs();
    const isSame = before !== undefined && signOf(before.paths) === before.sign;
    if (isSame && before.isSure && now - before.at < READ_AGAIN_MS) return;
    const paths = await trust.settingsPaths(stageId);
    const sign = signOf(paths); // taken before the files are read, so the next check sees what is written meanwhile
    await changes.report(executor);
    read.set(id, { paths, sign, isSure: sign === before?.sign, at: now });
  }

  const checks = createReconciler(check, (error) => log.error({ err: error }, 'reading settings files failed'), {
    everyMs: checkIntervalMs,
  });
  return {
    onRuleUsed(stageId, toolUseId) {
      checkRule(deps, changes, stageId, toolUseId).catch((error: unknown) =>
        log.error({ err: error, stageId }, 'checking the rule of a call failed'),
      );
    },
    onHookUsed(stageId) {
      checkHooks(deps, changes, stageId).catch((error: unknown) =>
        log.error({ err: error, stageId }, 'checking the hook of a call failed'),
      );
    },
    stop: () => void checks.stop(),
  };
}

type SettingsChanges = ReturnType<typeof createSettingsChanges>;

/** What has changed in settings files since the launch of each running session. All maps are by launch. */
function createSettingsChanges({ store, trust }: Pick<SettingsWatchDeps, 'store' | 'trust'>) {
  /** Settings that were reported. */
  const reported = new Map<string, Set<string>>();
  /** Commands that settings have let out of the sandbox since the launch, even if they no longer do. */
  const excluded = new Map<string, Set<string>>();
  /** Settings that were added since the launch, even if they were removed again. */
  const seen = new Map<string, Map<string, AddedSetting>>();

  async function added({ launch }: Watched): Promise<AddedSetting[]> {
    const before = seen.get(launch.id) ?? new Map<string, AddedSetting>();
    seen.set(launch.id, before);
    for (const item of await trust.addedSince(launch.stageId, launch.settings)) before.set(keyOf(item), item);
    return [...before.values()];
  }

  /** Reports commands that may now run outside the sandbox, without waiting for their first use. */
  async function reportExclusions({ launch: { id, stageId, settings } }: Watched): Promise<void> {
    const known = excluded.get(id) ?? new Set<string>();
    excluded.set(id, known);
    const fresh = (await trust.newlyExcluded(stageId, settings)).filter((command) => !known.has(command));
    if (fresh.length === 0) return;
    const loosen = (tx: Tx) =>
      changeSession(tx, stageId, (change) => {
        loosenIsolation(change, 'settings-changed', fresh.join(', '));
        addNotice(change, tx.now, excludedNotice(fresh));
      });
    await store.transact(loosen, { sync: 'later' });
    for (const command of fresh) known.add(command);
  }

  return {
    added,
    reportExclusions,
    excludedIn: ({ launch }: Watched): string[] => [...(excluded.get(launch.id) ?? [])],
    async report(executor: Watched): Promise<void> {
      const { id, stageId } = executor.launch;
      await reportExclusions(executor);
      const known = reported.get(id) ?? new Set<string>();
      reported.set(id, known);
      const fresh = (await added(executor)).filter((item) => !item.isAgreed && !known.has(keyOf(item)));
      if (fresh.length === 0) return;
      const report = (tx: Tx) =>
        changeSession(tx, stageId, (change) => addNotice(change, tx.now, changedNotice(fresh)));
      await store.transact(report, { sync: 'later' });
      for (const item of fresh) known.add(keyOf(item));
    },
    forgetAllBut(living: ReadonlySet<string>): void {
      for (const map of [reported, seen, excluded]) for (const id of map.keys()) if (!living.has(id)) map.delete(id);
    },
  };
}

async function checkRule(
  { store, running, raiseAlarm }: SettingsWatchDeps,
  changes: SettingsChanges,
  stageId: StageId,
  toolUseId: string,
): Promise<void> {
  const executor = [...running()].find(({ launch }) => launch.stageId === stageId);
  const call = await store.read.transcript.findCall(stageId, toolUseId);
  if (executor === undefined || call === null || !executor.launch.settings.isKnown) return;
  await changes.reportExclusions(executor);
  const out = changes.excludedIn(executor).find((one) => ruleCovers(`Bash(${one})`, call));
  if (out !== undefined) {
    const what = `The rule is ${out}, and it lets commands run outside the sandbox; it was not there when the session started.`;
    return raiseAlarm(stageId, alarmOf('foreign-rule', what));
  }
  const rule = (await newRules(executor, changes)).find((one) => ruleCovers(one, call));
  if (rule === undefined) return;
  const what = `The rule is ${rule}; it was not there when the session started.`;
  await raiseAlarm(stageId, alarmOf('foreign-rule', what));
}

async function checkHooks(
  { running, raiseAlarm }: SettingsWatchDeps,
  changes: SettingsChanges,
  stageId: StageId,
): Promise<void> {
  const executor = [...running()].find(({ launch }) => launch.stageId === stageId);
  if (executor === undefined || !executor.launch.settings.isKnown) return;
  const hook = (await changes.added(executor)).find(({ kind, isAgreed }) => kind === 'hook' && !isAgreed);
  if (hook === undefined) return;
  const what = `The hook is ${hook.value} (${hook.file}); it was not there when the session started.`;
  await raiseAlarm(stageId, alarmOf('foreign-hook', what));
}

/** Returns new rules, from the files and from Claude Code: a rule may be gone from its file again. */
async function newRules(executor: Watched, changes: SettingsChanges): Promise<string[]> {
  const added = (await changes.added(executor)).filter(({ kind }) => kind === 'rule');
  const active = await listActiveRules(executor, AbortSignal.timeout(RULES_REPLY_MS)).catch(() => []);
  const live = active.filter(({ behavior, source }) => behavior === 'allow' && FILES.has(source));
  const known = new Set([...executor.launch.settings.rules, ...added.map(({ value }) => value)]);
  const agreed = new Set(added.flatMap(({ value, isAgreed }) => (isAgreed ? [value] : [])));
  const others = live.map(({ rule }) => rule).filter((rule) => !known.has(rule));
  return [...added.map(({ value }) => value), ...others].filter((rule) => !agreed.has(rule));
}

function excludedNotice(commands: readonly string[]): Notice {
  const text = `New in settings files since this session started: ${commands.join(', ')} may run outside the sandbox. Something other than a command in the sandbox has written it. If it was not you, remove it and restart the session.`;
  return { level: 'warning', code: 'sandbox-loosened', text };
}

const keyOf = ({ kind, value, file }: AddedSetting) => `${file} ${kind}:${value}`;

function changedNotice(items: readonly AddedSetting[]): Notice {
  const named = items.map(({ kind, value, file }) => `${kind} ${value} (${file})`).join(', ');
  const text = `New in settings files since this session started: ${named}. It may hold in this session already. A command that Claude ran may have written it. If it was you, say so; otherwise the next session asks for it.`;
  return { level: 'warning', code: 'settings-changed', text };
}
