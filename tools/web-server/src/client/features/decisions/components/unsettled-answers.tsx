import type { Decision } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { Link } from 'react-router';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { decisionText } from '../../interaction/words/decision-words.ts';
import { LostNote } from './lost-note.tsx';
import { SettleActions } from './settle-actions.tsx';
import css from './unsettled.module.css';

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

interface UnsettledAnswerProps {
  decision: Decision;
  namesStage: boolean;
}

/** An answer whose process or turn ended before it was confirmed: the known facts, Retry and Dismiss. */
function UnsettledAnswer({ decision, namesStage }: UnsettledAnswerProps) {
  const { data: title } = useQuery({ ...boardQuery, select: (view) => stageOf(decision.stageId)(view)?.title });
  return (
    <article className={css.answer}>
      <h2 className={css.title}>It is not known whether this answer took effect</h2>
      {namesStage && (
        <Link className={css.stage} to={`/stages/${decision.stageId}`}>
          {title ?? decision.stageId}
        </Link>
      )}
      <p>
        {decisionText(decision)}: <code className={css.asked}>{decision.asked}</code>
      </p>
      {Object.entries(decision.answers ?? {}).map(([question, answer]) => (
        <p key={question}>
          {question} <strong>{answer}</strong>
        </p>
      ))}
      <p className={css.known}>
        <LostNote lost={decision.lost} />
      </p>
      <SettleActions decision={decision} />
    </article>
  );
}
