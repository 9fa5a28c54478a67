import type { BackgroundTask } from '@callboard/contract';
import type { AgentEvent } from '../agent/agent-event.ts';
import { ownProperty } from '../lib/own-property.ts';
import type { SessionRecord } from '../store/records.ts';
import { truncate } from '../text/truncate.ts';
import type { EventContext } from './event-context.ts';

/** A long command is cut: it is part of what every board is told of the session. */
const LONGEST_COMMAND = 2_000;
/** How many starts are remembered. A foreground command of a few seconds is told as a task, too. */
const REMEMBERED_STARTS = 32;
/** How far back the call of a task is looked for. */
const LOOK_BACK = 50;

type Told = Extract<AgentEvent, { type: 'tasks' }>['tasks'][number];

/** The tasks that run now, as the CLI lists them, with what is known of how each was started. */
export function takeTasks(record: SessionRecord, tasks: readonly Told[], now: string): SessionRecord {
  const backgroundTasks = tasks.map(({ taskId, type, description }): BackgroundTask => {
    const before = record.backgroundTasks.find((task) => task.taskId === taskId);
    const start = ownProperty(record.taskStarts, taskId) ??
      before ?? { toolUseId: null, command: null, startedAt: now };
    const { toolUseId, command, startedAt } = start;
    return { taskId, type, description, toolUseId, command, startedAt };
  });
  return { ...record, backgroundTasks };
}

/** A task was started; the CLI lists it before or after that. */
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

/** What the call runs, by the transcript. */
async function commandOf({ tx, change }: EventContext, toolUseId: string): Promise<string | null> {
  const { stageId } = change.record;
  const stored = await tx.transcript.page(stageId, { after: undefined, before: undefined, limit: LOOK_BACK });
  const call = [...stored, ...change.entries].findLast(
    (entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId,
  );
  const command = call?.kind === 'tool-use' ? call.input.command : null;
  return typeof command === 'string' ? truncate(command, LONGEST_COMMAND) : null;
}
