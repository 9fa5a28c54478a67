import type { StageView } from '@callboard/contract';
import { Markdown } from '../../../ui/markdown.tsx';
import css from './stage-head.module.css';

/** A stage that nobody has started: what it is going to be told. */
export function NotStarted({ stage }: { stage: StageView }) {
  return (
    <div className={css.ready}>
      <div className={css.readyInner}>
        <h2 className={css.sub}>What Claude will be told</h2>
        <Markdown text={stage.prompt} />
      </div>
    </div>
  );
}
