import type { Decision } from '@callboard/contract';
import clsx from 'clsx';
import { requestKey } from '../../../lib/request-words.ts';
import css from './unsettled.module.css';
import { UnsettledAnswer } from './unsettled-answer.tsx';

interface UnsettledAnswersProps {
  decisions: readonly Decision[];
  /** Uses the full width of a stage's own page, without naming the stage. */
  isWide?: boolean;
}

/** Answers whose fate is unknown, each with its actions. */
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
