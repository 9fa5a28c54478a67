import { z } from 'zod';

/** What a person says of a background command. */
export const TaskMark = z.enum([
  /** It is work: the stage waits for it, and nobody is asked about it. */
  'work',
  /** It is meant to keep running, such as a dev server or a monitor: nothing waits for it. */
  'keep-running',
]);
export type TaskMark = z.infer<typeof TaskMark>;

/** A task that the CLI runs beside the turn: a background agent, or a Bash command like a dev server. */
export const BackgroundTask = z.object({
  taskId: z.string(),
  /** Claude Code's name: `local_bash` for a command, `local_agent` for a subagent. */
  type: z.string(),
  /** Claude's description. */
  description: z.string(),
  /** The tool call that started it; null if unknown. */
  toolUseId: z.string().nullable().default(null),
  /** The command line, cut if it is long; null for an agent, and if the call is unknown. */
  command: z.string().nullable().default(null),
  /** Null if an older Callboard recorded it. */
  startedAt: z.iso.datetime().nullable().default(null),
  /** Null: nobody said, so the stage waits for it; if it is silent for long, a person is asked once. */
  mark: TaskMark.nullable().default(null),
});
export type BackgroundTask = z.infer<typeof BackgroundTask>;

/** Whether a task runs a command: a dev server, a test run or a monitor. A person can mark it. */
export const isCommandTask = ({ type }: Pick<BackgroundTask, 'type'>): boolean =>
  type === 'local_bash' || type === 'unknown' || type.startsWith('monitor');

/**
 * Returns the background tasks that a stage waits for: its phase ends, its work is checked and merged, and it counts as finished
 * only without them.
 */
export const awaitedTasks = ({ backgroundTasks }: { backgroundTasks: readonly BackgroundTask[] }): BackgroundTask[] =>
  backgroundTasks.filter(({ mark }) => mark !== 'keep-running');

/** Whether the turn is over and only background tasks keep the stage from being finished. Messages are delivered meanwhile. */
export const awaitsTasks = (session: { state: string; backgroundTasks: readonly BackgroundTask[] }): boolean =>
  session.state === 'idle' && awaitedTasks(session).length > 0;

/** What Claude plans to come back to by itself (`ScheduleWakeup`, `CronCreate`). It comes only while the session has a process. */
export const WakeUp = z.object({
  id: z.string(),
  /** Claude's reason, or the prompt that it will get. */
  what: z.string(),
  /** Null: again and again. */
  at: z.iso.datetime().nullable(),
  /** Claude Code keeps it in a file, so it outlives the process. */
  isDurable: z.boolean().default(false),
});
export type WakeUp = z.infer<typeof WakeUp>;
