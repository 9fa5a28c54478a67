import type { Decision } from '@callboard/contract';
import { decisionWords, deliveryWords } from '../../../lib/decision-words.ts';
import { exactTime } from '../../../lib/time.ts';
import { Fold } from './fold.tsx';
import css from './transcript.module.css';

/** What was decided, folded to one line; with a reason or answers it can be opened. */
export function DecisionLine({ decision }: { decision: Decision }) {
  const delivery = deliveryWords(decision);
  const words = (
    <span title={exactTime(decision.at)}>
      {decisionWords(decision)}
      {delivery !== null && ` (${delivery})`}
    </span>
  );
  const answers = Object.entries(decision.answers ?? {});
  if (decision.reason === null && answers.length === 0) return <div className={css.decision}>{words}</div>;
  return (
    <Fold id={`decision:${decision.requestId}`} summary={words} openByItself={decision.outcome === 'denied'}>
      {decision.reason !== null && <p>{decision.reason}</p>}
      {answers.map(([question, answer]) => (
        <p key={question}>
          {question} <strong>{answer}</strong>
        </p>
      ))}
    </Fold>
  );
}
