import type { FinishProblem } from '@callboard/contract';
import { Button } from '@mantine/core';
import { CopyLine } from './copy-line.tsx';
import css from './finish-problem-note.module.css';
import { FailureNote } from './note.tsx';

interface FinishProblemNoteProps {
  problem: FinishProblem;
  isReading?: boolean;
  /** Looks again whether it is still so. */
  readAgain?: () => void;
}

/** Why a stage cannot be finished like this, or a code host not be asked: the cause, then one step: a command, a page, or to look again. */
export function FinishProblemNote({ problem, isReading = false, readAgain }: FinishProblemNoteProps) {
  const { message, command, url } = problem;
  const [cause = '', ...details] = message.split('\n');
  return (
    <FailureNote>
      <div className={css.problem}>
        <span className={css.line}>{cause}</span>
        {command !== null && <CopyLine text={command} />}
        <div className={css.steps}>
          {url !== null && (
            <Button component="a" href={url} target="_blank" rel="noreferrer" size="compact-md" variant="default">
              Open it by hand
            </Button>
          )}
          {readAgain !== undefined && (
            <Button size="compact-md" loading={isReading} onClick={readAgain}>
              Check again
            </Button>
          )}
        </div>
        {details.length > 0 && (
          <details>
            <summary>Details</summary>
            <pre className={css.details}>{details.join('\n')}</pre>
          </details>
        )}
      </div>
    </FailureNote>
  );
}
