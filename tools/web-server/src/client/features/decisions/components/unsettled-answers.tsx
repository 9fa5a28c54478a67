import type { Decision } from '@callboard/contract';
import clsx from 'clsx';
import { requestKey } from '../../../lib/request-words.ts';
import css from './unsettled.module.css';
import { UnsettledAnswer } from './unsettled-answer.tsx';

interface UnsettledAnswersProps {
  decisions: readonly Decision[];
  /** On a stage's own page, over its whole width; the stage need not be named then. */
  isWide?: boolean;
}

/** Answers whose fate nobody knows, each with what can be done about it. */
export function UnsettledAnswers({ decisions, isWide = false }: UnsettledAnswersProps) {
  if (decisions.length === 0) return null;
  return (
    <section className={clsx(css.all, isWide && css.wide)} aria-label="Unconfirmed answers">
      {decisions.map((decision) => (
        <UnsettledAnswer key={requestKey(decision)} decision={decision} namesStage={!isWide} />
      ))}
    </section>
  );
}
