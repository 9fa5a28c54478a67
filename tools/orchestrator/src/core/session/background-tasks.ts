import {
  awaitedTasks,
  awaitsTasks,
  type BackgroundTask,
  isCommandTask,
  type TaskMark,
  type WakeUp,
} from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { ownProperty, truncate } from '../../lib/text.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import type { AgentEvent } from '../agent-event.ts';
import { addNotice, type EventContext, type SessionChange } from './session-change.ts';

/** The longest command that is kept in full, in characters: every board gets it with the session summary. */
const MAX_COMMAND_LENGTH = 2_000;
/** How many task starts are kept. The CLI reports a foreground command of a few seconds as a task too. */
const REMEMBERED_STARTS = 32;
/** How many of the newest transcript entries are searched for the call that started a task. */
const LOOKBACK = 50;

type ListedTask = Extract<AgentEvent, { type: 'tasks' }>['tasks'][number];

/** Returns the record with the tasks that the CLI lists as running, each with the call that started it (null if unknown). */
export function takeTasks(record: SessionRecord, tasks: readonly ListedTask[], now: string): SessionRecord {
  const backgroundTasks = tasks.map(({ taskId, type, description }): BackgroundTask => {
    const before = record.backgroundTasks.find((task) => task.taskId === taskId);
    const start = ownProperty(record.taskStarts, taskId) ??
      before ?? { toolUseId: null, command: null, startedAt: now };
    const { toolUseId, command, startedAt } = start;
    const mark = before?.mark ?? (isSaved(record, command) ? 'keep-running' : null);
    return { taskId, type, description, toolUseId, command, startedAt, mark };
  });
  return { ...record, backgroundTasks };
}

const isSaved = ({ keptCommands }: SessionRecord, command: string | null): boolean =>
  command !== null && keptCommands.includes(command);

/** A background task has ended: notes that Claude will be told of it, or that it was ended without a person's word. */
export async function takeTaskEnd(
  { tx, change, launchId }: EventContext,
  { taskId, runId, isReported }: Extract<AgentEvent, { type: 'task-ended' }>,
): Promise<void> {
  const { record } = change;
  const task = record.backgroundTasks.find((one) => one.taskId === taskId);
  if (task === undefined) return; // it ran in the foreground
  const sent = isReported ? [] : await tx.outbox.listOf(launchId, ['accepted', 'written', 'confirmed']);
  const isAsked = sent.some(
    ({ body }) => body.kind === 'control' && body.request.subtype === 'stop_task' && body.request.task_id === taskId,
  );
  // Of a command that a person stops, Claude is told with the next message; of an agent at once (seen with 2.1.330).
  const wasReportedAtOnce = isReported || (isAsked && !isCommandTask(task));
  if (wasReportedAtOnce && runId !== '')
    change.record = { ...record, reports: [...record.reports.filter((id) => id !== runId), runId] };
  if (!isReported && !isAsked) noteEnded(change, tx.now, [task]);
}

/** Claude has been told of the end of a task. */
export function takeTaskReport(change: SessionChange, runId: string): void {
  const { reports } = change.record;
  if (reports.includes(runId)) change.record = { ...change.record, reports: reports.filter((id) => id !== runId) };
}

/** Names in the transcript the tasks that were ended before they were done. */
export function noteEnded(change: SessionChange, at: string, tasks: readonly BackgroundTask[]): void {
  if (tasks.length === 0) return;
  const text = `Stopped in the background: ${tasks.map((task) => taskText(task, at)).join('; ')}.`;
  const isLoss = tasks.some(({ mark }) => mark !== 'keep-running');
  addNotice(change, at, { level: isLoss ? 'warning' : 'info', code: 'tasks-ended', text });
}

/** How much of a command is quoted. */
const QUOTED = 200;

/** Names a task in a sentence: what it is, its command, and for how long it has run. */
function taskText({ type, description, command, startedAt }: BackgroundTask, at: string): string {
  const what = isCommandTask({ type }) ? 'the command' : 'the agent';
  const quoted = command === null ? '' : ` (${truncate(command, QUOTED)})`;
  if (startedAt === null) return `${what} "${description}"${quoted}`;
  const seconds = Math.max(0, Math.round((Date.parse(at) - Date.parse(startedAt)) / 1_000));
  const after = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `${what} "${description}"${quoted}, after ${after}`;
}

/**
 * @throws Rejection `background_work` while Claude's commands run that the stage waits for
 * @param what what has to wait, as the beginning of a sentence
 */
export function requireNoAwaitedTasks(
  session: Pick<SessionRecord, 'stageId' | 'state' | 'backgroundTasks'> | null,
  what: string,
): void {
  if (session === null || !awaitsTasks(session)) return;
  const tasks = awaitedTasks(session);
  const named = tasks.map(({ command, description }) => truncate(command ?? description, QUOTED)).join('; ');
  const message = `${what} ${session.stageId} still runs in the background: ${named}. Wait until that has ended, stop it, or mark it as meant to keep running.`;
  throw new Rejection('background_work', message);
}

/** How many commands are remembered as meant to keep running. */
const MAX_SAVED = 50;

/**
 * Marks a command for a person: whether the stage waits for it.
 * @throws Rejection `unknown_task` if it does not run, or is no command
 */
export function markTask(record: SessionRecord, taskId: string, mark: TaskMark | null): SessionRecord {
  const task = record.backgroundTasks.find((one) => one.taskId === taskId);
  if (task === undefined)
    throw new Rejection('unknown_task', `No background task ${taskId} is running; it may have ended already.`);
  if (!isCommandTask(task))
    throw new Rejection(
      'unknown_task',
      'A subagent ends by itself, so the stage always waits for it. Stop it if it should not.',
    );
  const { command } = task;
  const others = record.keptCommands.filter((one) => one !== command);
  const isNamed = command !== null && mark === 'keep-running';
  return {
    ...record,
    backgroundTasks: record.backgroundTasks.map((one) => (one === task ? { ...one, mark } : one)),
    keptCommands: isNamed ? [...others, command].slice(-MAX_SAVED) : others,
    stalledSince: null,
  };
}

/** Stores which call started a task. The CLI may list the task before or after it reports the start. */
export async function takeTaskStart(
  context: EventContext,
  { taskId, toolUseId, description, taskType, parentTaskId }: Extract<AgentEvent, { type: 'task-started' }>,
): Promise<void> {
  const { tx, change } = context;
  if (toolUseId === null) return;
  const { record } = change;
  const isAgent = taskType !== 'local_bash';
  const agents = isAgent
    ? { ...record.agents, [taskId]: { toolUseId, description, parent: parentTaskId ?? null } }
    : record.agents;
  const listed = record.backgroundTasks.find((task) => task.taskId === taskId);
  const start = {
    toolUseId,
    command: isAgent ? null : await commandOf(context, toolUseId),
    startedAt: listed?.startedAt ?? tx.now,
  };
  const others = Object.entries(record.taskStarts).filter(([id]) => id !== taskId);
  const taskStarts = Object.fromEntries([...others, [taskId, start] as const].slice(-REMEMBERED_STARTS));
  change.record = takeTasks({ ...record, agents, taskStarts }, record.backgroundTasks, tx.now);
}

/** Returns the command of a call from the transcript; null if the call is not found or has no command. */
async function commandOf({ tx, change }: EventContext, toolUseId: string): Promise<string | null> {
  const { stageId } = change.record;
  const stored = await tx.transcript.page(stageId, { after: undefined, before: undefined, limit: LOOKBACK });
  const call = [...stored, ...change.entries].findLast(
    (entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId,
  );
  const command = call?.kind === 'tool-use' ? call.input.command : null;
  return typeof command === 'string' ? truncate(command, MAX_COMMAND_LENGTH) : null;
}

/**
 * Claude Code keeps a wake-up in its process, or in `.claude/scheduled_tasks.json` of the worktree, and begins the turn with a message
 * of its own, whose id it tells together with `wakeup_source` (2.1.330).
 */

/** There is one at most: the next `ScheduleWakeup` replaces it. */
const LOOP = 'loop';
/** How long after its time a wake-up may still come: Claude Code spreads them, and waits for the end of a turn. */
const LATE_MS = 120_000;

const MAX_TEXT = 200;

/** Returns the wake-ups that are still to come. */
export const wakeUpsToCome = ({ wakeUps }: Pick<SessionRecord, 'wakeUps'>, now: string): readonly WakeUp[] =>
  wakeUps.filter(({ at }) => at === null || Date.parse(at) + LATE_MS > Date.parse(now));

/** Whether Claude ended its turn to go on at a certain time: what it works at is not finished. One that repeats is a watch. */
export const resumesLater = (record: Pick<SessionRecord, 'wakeUps'>, now: string): boolean =>
  wakeUpsToCome(record, now).some(({ at }) => at !== null);

/** Stores what a call planned or cancelled, by its result. Call it before the call is forgotten. */
export async function takeWakeUpPlan(
  context: EventContext,
  { toolUseId, isError, text }: { toolUseId: string; isError: boolean; text: string },
): Promise<void> {
  const { tx, change } = context;
  const toolName = ownProperty(change.record.calls, toolUseId)?.toolName ?? '';
  if (isError || !['ScheduleWakeup', 'CronCreate', 'CronDelete'].includes(toolName)) return;
  const input = await inputOf(context, toolUseId);
  const message = (...keys: string[]) => {
    const found = keys.map((key) => input[key]).find((value) => typeof value === 'string' && value !== '');
    return truncate(String(found ?? ''), MAX_TEXT);
  };
  const save = (id: string, more: readonly WakeUp[]) => {
    const others = change.record.wakeUps.filter((one) => one.id !== id);
    change.record = { ...change.record, wakeUps: [...others, ...more].slice(-MAX_SAVED) };
  };
  if (toolName === 'CronDelete') return save(message('id'), []);
  if (toolName === 'ScheduleWakeup') {
    const seconds = /\(in (\d+)s\)/.exec(text)?.[1];
    if (seconds === undefined) return;
    const at = new Date(Date.parse(tx.now) + Number(seconds) * 1_000).toISOString();
    return save(LOOP, [{ id: LOOP, what: message('reason', 'prompt'), at, isDurable: false }]);
  }
  const id = /\b(?:job|task) ([0-9a-z]+)/.exec(text)?.[1];
  const isDurable = text.includes('Persisted to');
  if (id === undefined || !(isDurable || text.includes('Session-only'))) return;
  const at = text.startsWith('Scheduled recurring') ? null : nextRun(text, tx.now);
  save(id, [{ id, what: message('prompt'), at, isDurable }]);
}

async function inputOf({ tx, change }: EventContext, toolUseId: string): Promise<Record<string, unknown>> {
  const { stageId } = change.record;
  const stored = await tx.transcript.page(stageId, { after: undefined, before: undefined, limit: LOOKBACK });
  const call = [...stored, ...change.entries].findLast(
    (entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId,
  );
  return call?.kind === 'tool-use' ? call.input : {};
}

/** Reads "Next run: Nov 28 7:52am", which is in the time zone of this machine; null if it is not there. */
function nextRun(text: string, now: string): string | null {
  const [, day, hours, minutes, half] = /Next run: (\w+ \d+) (\d+):(\d+)(am|pm)/.exec(text) ?? [];
  if (day === undefined) return null;
  const at = new Date(`${day} ${new Date(now).getFullYear()}`);
  at.setHours((Number(hours) % 12) + (half === 'pm' ? 12 : 0), Number(minutes));
  if (Number.isNaN(at.getTime())) return null;
  if (at.getTime() + LATE_MS < Date.parse(now)) at.setFullYear(at.getFullYear() + 1);
  return at.toISOString();
}

/**
 * Claude Code begins a turn by itself. If Claude had planned that, the transcript says so, and the message is nobody else's.
 * @returns whether Claude had planned it
 */
export function wokeUp({ tx, change }: EventContext, messageId: string, source: string): boolean {
  const { wakeUps, wakeUpMessages } = change.record;
  const isLoop = source === 'loop_wakeup';
  const candidates = wakeUps.filter(({ id }) => (id === LOOP) === isLoop);
  if (candidates.length === 0) return false;
  const isOver = (one: WakeUp) => candidates.includes(one) && one.at !== null && (isLoop || one.at <= tx.now);
  change.record = {
    ...change.record,
    wakeUps: wakeUps.filter((one) => !isOver(one)),
    wakeUpMessages: [...wakeUpMessages, messageId].slice(-MAX_SAVED),
  };
  const due = candidates.length === 1 ? candidates : candidates.filter(isOver);
  const what = due.length === 1 && due[0]?.what ? `: ${due[0].what}` : '';
  addNotice(change, tx.now, { level: 'info', code: 'woke-up', text: `Claude woke up as it had planned${what}` });
  return true;
}

/** Says what Claude will not come back to, because its process has ended. */
export function loseWakeUps(change: SessionChange, now: Tx['now']): void {
  const lost = wakeUpsToCome(change.record, now).filter(({ isDurable }) => !isDurable);
  if (lost.length === 0) return;
  const named = lost.map(({ what, at }) => `"${what}" (${at === null ? 'again and again' : `at ${at}`})`);
  const text = `Claude had planned to wake up by itself for ${named.join(', ')}. Claude Code keeps that in its process only, so it will not happen. Send a message when Claude should look again.`;
  addNotice(change, now, { level: 'warning', code: 'wake-ups-lost', text });
}
