import type { BackgroundTask, StageId } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { CodeBlock } from '../../../ui/code.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { OutputScreen } from '../../../ui/output-screen.tsx';
import { taskOutputQuery } from '../api/session-commands.ts';
import { outputText } from '../model/control-words.ts';
import css from './session-controls.module.css';

interface TaskOutputDialogProps {
  stageId: StageId;
  task: BackgroundTask;
  isRunning: boolean;
  isStopping: boolean;
  /** Null while no command can be sent. */
  stop: (() => void) | null;
  close: () => void;
}

/** The output of a background command. */
export function TaskOutputDialog({ stageId, task, isRunning, isStopping, stop, close }: TaskOutputDialogProps) {
  return (
    <Dialog opened title={`Output of ${task.description}`} size={880} close={close} closeOnClickOutside>
      <div className={css.output}>
        {task.command !== null && <CodeBlock isCommand text={task.command} />}
        <Output stageId={stageId} taskId={task.taskId} isRunning={isRunning} />
        <div className={css.outputFoot}>
          <span className={css.facts} role="status">
            {isRunning ? 'Running.' : 'Not running any more.'}
          </span>
          {isRunning && (
            <Button variant="default" disabled={stop === null} loading={isStopping} onClick={() => stop?.()}>
              Stop
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function Output({ stageId, taskId, isRunning }: { stageId: StageId; taskId: string; isRunning: boolean }) {
  const { data, error, refetch } = useQuery(taskOutputQuery(stageId, taskId, isRunning));
  if (data === undefined) return error === null ? null : <ErrorNote error={error} retry={() => void refetch()} />;
  return (
    <>
      <OutputScreen output={data.output} note={outputText(data)} empty="(no output yet)" isTall />
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
    </>
  );
}
