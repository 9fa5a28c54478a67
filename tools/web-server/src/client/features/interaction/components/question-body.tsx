import { questionsOf } from '@callboard/contract';
import { errorText } from '../../../lib/api.ts';
import { requestKey } from '../../../lib/request-words.ts';
import { useCanAnswer } from '../../../live/live-context.tsx';
import { FailureNote, Note } from '../../../ui/note.tsx';
import { useAnswer } from '../api/use-decide.ts';
import { useDraft } from '../api/use-draft.ts';
import { answersOf, EMPTY_ANSWER, isComplete, openWords } from '../model/answers.ts';
import { useArmed } from '../model/arming.ts';
import { withAnswer } from '../model/drafts.ts';
import type { RequestBodyProps } from './kinds.ts';
import { useLeftOut } from './left-out.tsx';
import { QuestionField } from './question-field.tsx';
import { ReasonField } from './reason-field.tsx';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { StillSending } from './still-sending.tsx';
import { useVerdictKeys, VerdictButton } from './verdict-actions.tsx';

/** One or more questions; sent together, once each has an answer. A person may decline to answer. */
export function QuestionBody({ request, keys }: RequestBodyProps) {
  const key = requestKey(request);
  const [draft, change] = useDraft(request);
  const answer = useAnswer(request);
  const armed = useArmed(key);
  const canAnswer = useCanAnswer();
  const questions = questionsOf(request.input);
  const answers = answersOf(questions, draft.answers);
  const complete = isComplete(questions, answers);
  const open = openWords(questions, answers);
  const sent = answer.isPending || answer.isSuccess;
  const off = sent || !armed || !canAnswer;
  const isDeclining = answer.variables !== undefined && 'decision' in answer.variables;
  const reason = draft.reason.trim();
  const { guard, note } = useLeftOut({ request, yes: 'Submit', no: 'Decline' });
  const submit = guard(() => answer.mutate({ answers }));
  const decline = () => answer.mutate({ decision: 'deny', ...(reason === '' ? {} : { reason }) });
  useVerdictKeys(keys, { act: submit, isOff: off || !complete }, { act: decline, isOff: off });

  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        {questions.length === 0 && (
          <Note>The question could not be read. Answer it on the stage's page with a message.</Note>
        )}
        {questions.map((question, index) => (
          <QuestionField
            key={question.question}
            question={question}
            draft={draft.answers[index] ?? EMPTY_ANSWER}
            disabled={sent}
            change={(next) => change({ answers: withAnswer(draft, index, next) })}
          />
        ))}
      </div>
      <div className={css.actions}>
        {answer.isError && (
          <div className={css.problem}>
            <FailureNote>{errorText(answer.error)}</FailureNote>
          </div>
        )}
        <StillSending isPending={answer.isPending} />
        {!sent && note}
        {open !== null && <p className={css.caption}>{open}</p>}
        <ReasonField request={request} placeholder="Reason; Claude reads it when you decline" disabled={sent} />
        <div className={css.buttons}>
          <VerdictButton
            label="Decline"
            hint="D"
            variant="default"
            act={decline}
            disabled={off}
            loading={sent && isDeclining}
          />
          <VerdictButton
            label="Submit"
            type="submit"
            hint="A"
            variant="filled"
            act={submit}
            disabled={off || !complete}
            loading={sent && !isDeclining}
          />
        </div>
      </div>
    </>
  );
}
