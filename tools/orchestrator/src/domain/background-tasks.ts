import type { BackgroundTask } from '@callboard/contract';
import type { AgentEvent } from '../agent/agent-event.ts';
import { ownProperty } from '../lib/own-property.ts';
import { truncate } from '../lib/truncate.ts';
import type { SessionRecord } from '../store/records.ts';
import type { EventContext } from './event-context.ts';

/** The longest command that is kept in full, in characters: every board gets it with the session summary. */
const LONGEST_COMMAND = 2_000;
/** How many task starts are kept. The CLI reports a foreground command of a few seconds as a task too. */
const REMEMBERED_STARTS = 32;
/** How many of the newest transcript entries are searched for the call that started a task. */
const LOOK_BACK = 50;

type ListedTask = Extract<AgentEvent, { type: 'tasks' }>['tasks'][number];

/** Returns the record with the tasks that the CLI lists as running, each with the call that started it (null if unknown). */
export function takeTasks(record: SessionRecord, tasks: readonly ListedTask[], now: string): SessionRecord {
  const backgroundTasks = tasks.map(({ taskId, type, description }): BackgroundTask => {
    const before = record.backgroundTasks.find((task) => task.taskId === taskId);
    const start = ownProperty(record.taskStarts, taskId) ??
      before ?? { toolUseId: null, command: null, startedAt: now };
    const { toolUseId, command, startedAt } = start;
    return { taskId, type, description, toolUseId, command, startedAt };
  });
  return { ...record, backgroundTasks };
}

/** Stores which call started a task. The CLI may list the task before or after it reports the start. */
export async function takeTaskStart(
  context: EventContext,
  { taskId, toolUseId, description, taskType }: Extract<AgentEvent, { type: 'task-started' }>,
): Promise<void> {
  const { tx, change } = context;
  if (toolUseId === null) return;
  const { record } = change;
  const isAgent = taskType !== 'local_bash';
  const agents = isAgent ? { ...record.agents, [taskId]: { toolUseId, description } } : record.agents;
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
  const stored = await tx.transcript.page(stageId, { after: undefined, before: undefined, limit: LOOK_BACK });
  const call = [...stored, ...change.entries].findLast(
    (entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId,
  );
  const command = call?.kind === 'tool-use' ? call.input.command : null;
  return typeof command === 'string' ? truncate(command, LONGEST_COMMAND) : null;
}
