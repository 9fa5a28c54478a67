import type { PendingRequest } from '@callboard/contract';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { askWords } from '../words/request-words.ts';
import css from './request.module.css';

/** Beyond this the stage's title has lines of its own, and the last ones may be cut off: what is asked never is. */
const LONG = 80;

/** "Login form wants to run a command": who asks, and for what. */
export function RequestTitle({ request }: { request: PendingRequest }) {
  const stageTitle = useStageTitle(request.stageId);
  const words = askWords(request, useFolder(request.stageId));
  if (stageTitle.length <= LONG) return `${stageTitle} ${words}`;
  return (
    <>
      <span className={css.stageTitle} title={stageTitle}>
        {stageTitle}
      </span>{' '}
      <span className={css.asks}>{words}</span>
    </>
  );
}
