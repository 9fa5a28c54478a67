import { awaitedTasks, awaitsTasks, type BackgroundTask, isCommandTask, type TaskMark } from '@callboard/contract';
import type { AgentEvent } from '../agent/agent-event.ts';
import { Rejection } from '../lib/errors.ts';
import { ownProperty } from '../lib/own-property.ts';
import { truncate } from '../lib/truncate.ts';
import type { SessionRecord } from '../store/records.ts';
import type { EventContext } from './event-context.ts';
import { addNotice, type SessionChange } from './session-change.ts';

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
