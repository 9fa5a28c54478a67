import type { BackgroundTask, StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconRobot, IconTerminal2 } from '@tabler/icons-react';
import { useState } from 'react';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useStopTask } from '../api/session-commands.ts';
import { hasOutput, taskKind } from '../model/control-words.ts';
import { Fold } from './fold.tsx';
import css from './session-controls.module.css';
import { TaskOutputDialog } from './task-output.tsx';

interface TaskPanelProps {
  stageId: StageView['id'];
  tasks: readonly BackgroundTask[];
}

/** The background tasks: each can be stopped, and a command's output can be read. */
export function TaskPanel({ stageId, tasks }: TaskPanelProps) {
  /** The task whose output is open. It stays open after the task has ended. */
  const [shown, setShown] = useState<BackgroundTask | null>(null);
  const stop = useStopTask(stageId);
  const canCommand = useCanCommand();
  const isRunning = ({ taskId }: BackgroundTask) => tasks.some((task) => task.taskId === taskId);
  const stopping = stop.isPending ? stop.variables : null;
  return (
    <>
      {tasks.length > 0 && (
        <section aria-label="Background tasks">
          <Fold
            id={`background:${stageId}`}
            summary={
              <span className={css.summary}>
                {count(tasks.length, 'background task')}:{' '}
                <Seen text={tasks.map((task) => task.description).join(', ')} kind="prose" />
              </span>
            }
          >
            <ul className={css.list}>
              {tasks.map((task) => (
                <li key={task.taskId}>
                  {hasOutput(task) ? <IconTerminal2 size={16} aria-hidden /> : <IconRobot size={16} aria-hidden />}
                  <TaskWords task={task} />
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

function TaskWords({ task }: { task: BackgroundTask }) {
  const { description, command, startedAt } = task;
  return (
    <div className={css.words}>
      <div>
        <span className={css.name}>
          <Seen text={description} kind="prose" />
        </span>{' '}
        <span className={css.facts}>
          {taskKind(task)}
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
