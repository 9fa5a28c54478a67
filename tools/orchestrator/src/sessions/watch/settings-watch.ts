import type { NewTranscriptEntry, StageId } from '@callboard/contract';
import { z } from 'zod';
import { ruleCovers, type ToolCall } from '../../agent/rule-covers.ts';
import { changeSession } from '../../domain/change-session.ts';
import { loosenIsolation } from '../../domain/isolation.ts';
import { type Alarm, alarmOf } from '../../domain/session-alarm.ts';
import { addEntry } from '../../domain/session-change.ts';
import type { Edges } from '../../lib/edges.ts';
import { signOf } from '../../lib/file-signs.ts';
import type { Logger } from '../../lib/logger.ts';
import { createNudgedWorker } from '../../lib/nudged-worker.ts';
import type { Store } from '../../store/store.ts';
import type { AddedSetting } from '../../trust/changes-since-launch.ts';
import type { Trust } from '../../trust/trust.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';

export interface SettingsWatchParts {
  store: Store;
  trust: Pick<Trust, 'addedSince' | 'newlyExcluded' | 'settingsPaths'>;
  edges: Pick<Edges, 'uptimeMs'>;
  log: Logger;
  lookMs: number;
  running: () => Iterable<Pick<SessionExecutor, 'launch' | 'request'>>;
  raiseAlarm: (stageId: StageId, alarm: Alarm) => Promise<void>;
}

/** What became of settings files while sessions run. */
export interface SettingsWatch {
  /** Claude Code let this call run under a permission rule. */
  onRuleUsed(stageId: StageId, toolUseId: string): void;
  /** A hook let a call run: it is an alarm where hooks were written since the launch, since nothing says which one it was. */
  onHookUsed(stageId: StageId): void;
  stop(): void;
}

interface Read {
  paths: readonly string[];
  sign: string;
  /** They were the same at the look before: a second write within one tick of the file system's clock leaves no other sign. */
  isSure: boolean;
  /** In `uptimeMs`. */
  at: number;
}

/** What Claude Code itself says that holds. Only rules that stand in files can have been slipped in there. */
const RulesReply = z.object({
  response: z.object({
    state: z.object({ rules: z.array(z.object({ behavior: z.string(), source: z.string(), rule: z.string() })) }),
  }),
});
const FILES: ReadonlySet<string> = new Set(['userSettings', 'projectSettings', 'localSettings']);
const REPLY_MS = 10_000;
/** So often files are read that do not seem to have changed: who maps a file into memory may write to it unseen. */
const READ_AGAIN_MS = 30_000;
/** A call is among the newest entries when its result comes. */
const RECENT = 200;

/**
 * Looks at the settings files of running sessions. What is new in them is told in the transcript, once; a tool that ran
 * under a rule that was not there at the launch, and that nobody has agreed to, is an alarm; so is one that a hook
 * allowed while there are such hooks.
 */
export function startSettingsWatch(parts: SettingsWatchParts): SettingsWatch {
  const { store, trust, edges, log, lookMs, running, raiseAlarm } = parts;
  /** By launch: what was told. */
  const told = new Map<string, Set<string>>();
  /** By launch: commands that settings have come to let out of the sandbox, also those that they do not any more. */
  const excluded = new Map<string, Set<string>>();
  /** By launch: rules that were seen since, also those that are gone again. */
  const seen = new Map<string, Map<string, AddedSetting>>();

  /** By launch: how its files were when they were last read. */
  const read = new Map<string, Read>();

  type Watched = Pick<SessionExecutor, 'launch' | 'request'>;

  async function grownIn({ launch }: Watched): Promise<AddedSetting[]> {
    const before = seen.get(launch.id) ?? new Map<string, AddedSetting>();
    seen.set(launch.id, before);
    for (const item of await trust.addedSince(launch.stageId, launch.settings)) before.set(keyOf(item), item);
    return [...before.values()];
  }

  async function look(): Promise<void> {
    const executors = [...running()];
    for (const executor of executors) await lookIfChanged(executor);
    const living = new Set(executors.map(({ launch }) => String(launch.id)));
    for (const map of [told, seen, excluded, read]) for (const id of map.keys()) if (!living.has(id)) map.delete(id);
  }

  /** Nearly always nothing has changed, and to see that costs a few microseconds a file. */
  async function lookIfChanged(executor: Watched): Promise<void> {
    const { id, stageId } = executor.launch;
    const before = read.get(id);
    const now = edges.uptimeMs();
    const isSame = before !== undefined && signOf(before.paths) === before.sign;
    if (isSame && before.isSure && now - before.at < READ_AGAIN_MS) return;
    const paths = await trust.settingsPaths(stageId);
    const sign = signOf(paths); // before they are read: what is written meanwhile is seen by the next look
    await lookAt(executor);
    read.set(id, { paths, sign, isSure: sign === before?.sign, at: now });
  }

  async function lookAt(executor: Watched): Promise<void> {
    const { id, stageId } = executor.launch;
    await lookAtExclusions(executor);
    const known = told.get(id) ?? new Set<string>();
    told.set(id, known);
    const fresh = (await grownIn(executor)).filter((item) => !item.isAgreed && !known.has(keyOf(item)));
    if (fresh.length === 0) return;
    await store.transact(
      (tx) => changeSession(tx, stageId, (change) => addEntry(change, tx.now, changedNotice(fresh))),
      {
        sync: 'later',
      },
    );
    for (const item of fresh) known.add(keyOf(item));
  }

  /** What may now run outside of the sandbox does not wait for its first use to be told. */
  async function lookAtExclusions({ launch: { id, stageId, settings } }: Watched): Promise<void> {
    const known = excluded.get(id) ?? new Set<string>();
    excluded.set(id, known);
    const fresh = (await trust.newlyExcluded(stageId, settings)).filter((command) => !known.has(command));
    if (fresh.length === 0) return;
    await store.transact(
      (tx) =>
        changeSession(tx, stageId, (change) => {
          loosenIsolation(change, 'settings-changed', fresh.join(', '));
          addEntry(change, tx.now, excludedNotice(fresh));
        }),
      { sync: 'later' },
    );
    for (const command of fresh) known.add(command);
  }

  async function callOf(stageId: StageId, toolUseId: string): Promise<ToolCall | null> {
    const entries = await store.read.transcript.page(stageId, { after: undefined, before: undefined, limit: RECENT });
    const entry = entries.findLast((one) => one.kind === 'tool-use' && one.toolUseId === toolUseId);
    return entry?.kind === 'tool-use' ? entry : null;
  }

  /** As files have them and as Claude Code says: a rule may be gone from its file again. */
  async function newRules(executor: Watched): Promise<string[]> {
    const grown = (await grownIn(executor)).filter(({ kind }) => kind === 'rule');
    const reply = await executor
      .request({ subtype: 'list_permission_rules' }, AbortSignal.timeout(REPLY_MS))
      .catch(() => null);
    const { data } = RulesReply.safeParse(reply);
    const live = data?.response.state.rules.filter(({ behavior, source }) => behavior === 'allow' && FILES.has(source));
    const known = new Set([...executor.launch.settings.rules, ...grown.map(({ value }) => value)]);
    const agreed = new Set(grown.flatMap(({ value, isAgreed }) => (isAgreed ? [value] : [])));
    const others = (live ?? []).map(({ rule }) => rule).filter((rule) => !known.has(rule));
    return [...grown.map(({ value }) => value), ...others].filter((rule) => !agreed.has(rule));
  }

  async function check(stageId: StageId, toolUseId: string): Promise<void> {
    const executor = [...running()].find(({ launch }) => launch.stageId === stageId);
    const call = await callOf(stageId, toolUseId);
    if (executor === undefined || call === null || !executor.launch.settings.isKnown) return;
    await lookAtExclusions(executor);
    const out = [...(excluded.get(executor.launch.id) ?? [])].find((one) => ruleCovers(`Bash(${one})`, call));
    if (out !== undefined) {
      const what = `The rule is ${out}, and it lets commands run outside of the sandbox; it was not there when the session started.`;
      return raiseAlarm(stageId, alarmOf('foreign-rule', what));
    }
    const rule = (await newRules(executor)).find((one) => ruleCovers(one, call));
    if (rule === undefined) return;
    const what = `The rule is ${rule}; it was not there when the session started.`;
    await raiseAlarm(stageId, alarmOf('foreign-rule', what));
  }

  async function checkHooks(stageId: StageId): Promise<void> {
    const executor = [...running()].find(({ launch }) => launch.stageId === stageId);
    if (executor === undefined || !executor.launch.settings.isKnown) return;
    const hook = (await grownIn(executor)).find(({ kind, isAgreed }) => kind === 'hook' && !isAgreed);
    if (hook === undefined) return;
    const what = `The hook is ${hook.value} (${hook.file}); it was not there when the session started.`;
    await raiseAlarm(stageId, alarmOf('foreign-hook', what));
  }

  const looking = createNudgedWorker(look, (error) => log.error({ err: error }, 'looking at settings files failed'));
  const timer = setInterval(looking.nudge, lookMs).unref();
  return {
    onRuleUsed(stageId, toolUseId) {
      check(stageId, toolUseId).catch((error: unknown) =>
        log.error({ err: error, stageId }, 'a rule that a tool ran under could not be looked at'),
      );
    },
    onHookUsed(stageId) {
      checkHooks(stageId).catch((error: unknown) =>
        log.error({ err: error, stageId }, 'a hook that allowed a tool could not be looked at'),
      );
    },
    stop: () => clearInterval(timer),
  };
}

function excludedNotice(commands: readonly string[]): NewTranscriptEntry {
  const text = `New in settings files since this session started: ${commands.join(', ')} may run outside of the sandbox. Something other than a command in the sandbox has written it. If it was not you, take it out again and restart the session.`;
  return { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'sandbox-loosened', text };
}

const keyOf = ({ kind, value, file }: AddedSetting) => `${file} ${kind}:${value}`;

function changedNotice(items: readonly AddedSetting[]): NewTranscriptEntry {
  const named = items.map(({ kind, value, file }) => `${kind} ${value} (${file})`).join(', ');
  const text = `New in settings files since this session started: ${named}. It may hold in this session already. A command that Claude ran may have written it. If it was you, say so; otherwise the next session asks for it.`;
  return { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'settings-changed', text };
}
