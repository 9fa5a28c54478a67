import {
  awaitsTasks,
  type BackgroundTask,
  isCommandTask,
  type SessionSummary,
  type StageView,
  type TaskMark,
} from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconAlarm, IconRobot, IconTerminal2 } from '@tabler/icons-react';
import { useState } from 'react';
import { count } from '../../../lib/format.ts';
import { comingWakeUps, wakeTime } from '../../../lib/wake-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Note } from '../../../ui/note.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useMarkTask, useStopTask } from '../api/session-commands.ts';
import { hasOutput, taskKind } from '../model/control-words.ts';
import { Fold } from './fold.tsx';
import css from './session-controls.module.css';
import { TaskOutputDialog } from './task-output.tsx';

interface TaskPanelProps {
  stageId: StageView['id'];
  session: SessionSummary;
}

/** The background tasks: each can be stopped, a command can be marked, and its output can be read. */
export function TaskPanel({ stageId, session }: TaskPanelProps) {
  const { backgroundTasks: tasks } = session;
  const isAsked = session.stalledSince !== null && awaitsTasks(session);
  /** The task whose output is open. It stays open after the task has ended. */
  const [shown, setShown] = useState<BackgroundTask | null>(null);
  const stop = useStopTask(stageId);
  const mark = useMarkTask(stageId);
  const canCommand = useCanCommand();
  const isRunning = ({ taskId }: BackgroundTask) => tasks.some((task) => task.taskId === taskId);
  const stopping = stop.isPending ? stop.variables : null;
  const wakeUps = comingWakeUps(session);
  return (
    <>
      {wakeUps.length > 0 && (
        <section aria-label="Planned wake-ups">
          <ul className={css.list}>
            {wakeUps.map((one) => (
              <li key={one.id}>
                <IconAlarm size={16} aria-hidden />
                <div className={css.words}>
                  {wakeTime(one)}: <Seen text={one.what} kind="prose" />
                </div>
              </li>
            ))}
          </ul>
        </section>
      )}
      {tasks.length > 0 && (
        <section aria-label="Background tasks">
          <Fold
            id={isAsked ? `asked:${stageId}` : `background:${stageId}`}
            openByItself={isAsked}
            summary={
              <span className={css.summary}>
                {count(tasks.length, 'background task')}:{' '}
                <Seen text={tasks.map((task) => task.description).join(', ')} kind="prose" />
              </span>
            }
          >
            {isAsked && (
              <Note>
                Claude has finished, but this still runs. Is it meant to keep running, like a dev server? Then nothing
                waits for it. If it is work, the stage goes on waiting.
              </Note>
            )}
            <ul className={css.list}>
              {tasks.map((task) => (
                <li key={task.taskId}>
                  {hasOutput(task) ? <IconTerminal2 size={16} aria-hidden /> : <IconRobot size={16} aria-hidden />}
                  <TaskText task={task} />
                  <div className={css.actions}>
                    {hasOutput(task) && (
                      <Button
                        size="compact-sm"
                        variant="default"
                        aria-label={`Output of ${task.description}`}
                        onClick={() => setShown(task)}
                      >
                        Output
                      </Button>
                    )}
                    {isCommandTask(task) && (
                      <MarkButtons
                        task={task}
                        isAsked={isAsked}
                        disabled={!canCommand || mark.isPending}
                        set={(to) => mark.mutate({ taskId: task.taskId, mark: to })}
                      />
                    )}
                    <Button
                      size="compact-sm"
                      variant="default"
                      aria-label={`Stop ${task.description}`}
                      disabled={!canCommand || (stopping !== null && stopping !== task.taskId)}
                      loading={stopping === task.taskId}
                      onClick={() => stop.mutate(task.taskId)}
                    >
                      Stop
                    </Button>
                  </div>
                </li>
              ))}
            </ul>
          </Fold>
        </section>
      )}
      {shown !== null && (
        <TaskOutputDialog
          stageId={stageId}
          task={shown}
          isRunning={isRunning(shown)}
          isStopping={stopping === shown.taskId}
          stop={canCommand ? () => stop.mutate(shown.taskId) : null}
          close={() => setShown(null)}
        />
      )}
    </>
  );
}

interface MarkButtonsProps {
  task: BackgroundTask;
  /** A person is asked about it, so there is an answer for work as well. */
  isAsked: boolean;
  disabled: boolean;
  set: (mark: TaskMark | null) => void;
}

function MarkButtons({ task: { mark, description }, isAsked, disabled, set }: MarkButtonsProps) {
  const button = { size: 'compact-sm', variant: 'default', disabled } as const;
  if (mark === 'keep-running')
    return (
      <Button {...button} aria-label={`Wait for ${description}`} onClick={() => set(null)}>
        Wait for it
      </Button>
    );
  return (
    <>
      <Button {...button} aria-label={`Keep ${description} running`} onClick={() => set('keep-running')}>
        Keep running
      </Button>
      {isAsked && mark === null && (
        <Button {...button} aria-label={`Wait for ${description}`} onClick={() => set('work')}>
          Wait for it
        </Button>
      )}
    </>
  );
}

/** Whether the stage waits for a task. */
const taskMarkText = ({ mark }: BackgroundTask): string =>
  mark === 'keep-running' ? 'meant to keep running' : 'the stage waits for it';

function TaskText({ task }: { task: BackgroundTask }) {
  const { description, command, startedAt } = task;
  return (
    <div className={css.words}>
      <div>
        <span className={css.name}>
          <Seen text={description} kind="prose" />
        </span>{' '}
        <span className={css.facts}>
          {taskKind(task)}, {taskMarkText(task)}
          {startedAt !== null && (
            <>
              {' · '}
              <TimeSince at={startedAt} />
            </>
          )}
        </span>
      </div>
      {command !== null && (
        <code className={css.command} title={command}>
          <Seen text={command} kind="command" />
        </code>
      )}
    </div>
  );
}
