import { type Decision, questionsOf, visibleText } from '@callboard/contract';
import { exactTime } from '../../../lib/format.ts';
import { ToolInputView } from '../../../ui/tool-input.tsx';
import { requestKinds } from '../../interaction/kinds/registry.ts';
import { answerText, decisionText, deliveryText, isChanged } from '../../interaction/words/decision-words.ts';
import { Fold } from './fold.tsx';
import { DeniedCallLine } from './retry-denial.tsx';
import css from './transcript.module.css';
import { useTranscriptDeps } from './transcript-context.tsx';

interface DecisionLineProps {
  decision: Decision;
  /** The input of the call. */
  asked?: unknown;
}

/** A decision, and below what Claude Code denied itself what can be done about that. */
export function DecisionLine(props: DecisionLineProps) {
  return (
    <>
      <Decided {...props} />
      {props.decision.denial !== null && <DeniedCallLine decision={props.decision} />}
    </>
  );
}

/** A decision on one line. One with a reason, answers or a changed input can be opened. */
function Decided({ decision, asked }: DecisionLineProps) {
  const { folder } = useTranscriptDeps();
  const delivery = deliveryText(decision);
  const answered = answerText(decision, questionsOf(asked));
  const text = (
    <span className={css.decided} title={exactTime(decision.at)}>
      {answered !== null && <strong>{answered}</strong>}
      {answered !== null && ' · '}
      {requestKinds[decision.kind].namesSubject && `${visibleText(decision.asked, 'command')} · `}
      {decisionText(decision)}
      {delivery !== null && ` (${delivery})`}
    </span>
  );
  const answers = Object.entries(decision.answers ?? {});
  const ran = isChanged(decision) ? decision.updatedInput : null;
  if (decision.reason === null && answers.length === 0 && ran === null)
    return <div className={css.decision}>{text}</div>;
  return (
    <Fold
      id={`decision:${decision.requestId}`}
      summary={text}
      openByItself={decision.outcome === 'denied' || ran !== null}
    >
      {ran !== null && <ToolInputView toolName={decision.toolName} input={ran} folder={folder} />}
      {decision.reason !== null && <p>{decision.reason}</p>}
      {answers.map(([question, answer]) => (
        <p key={question}>
          {question} <strong>{answer}</strong>
        </p>
      ))}
    </Fold>
  );
}
