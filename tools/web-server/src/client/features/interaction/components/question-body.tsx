import { questionsOf } from '@callboard/contract';
import { Button } from '@mantine/core';
import { errorText } from '../../../lib/api.ts';
import { requestKey } from '../../../lib/request-words.ts';
import { useCanAnswer } from '../../../live/live-context.tsx';
import { FailureNote, Note } from '../../../ui/note.tsx';
import { useAnswer } from '../api/use-decide.ts';
import { useDraft } from '../api/use-draft.ts';
import { answersOf, EMPTY_ANSWER, isComplete } from '../model/answers.ts';
import { useArmed } from '../model/arming.ts';
import { withAnswer } from '../model/drafts.ts';
import type { RequestBodyProps } from './kinds.ts';
import { QuestionField } from './question-field.tsx';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { StillSending } from './still-sending.tsx';

/** One or more questions; sent together, once each has an answer. */
export function QuestionBody({ request }: RequestBodyProps) {
  const key = requestKey(request);
  const [draft, change] = useDraft(request);
  const answer = useAnswer(request);
  const armed = useArmed(key);
  const canAnswer = useCanAnswer();
  const questions = questionsOf(request.input);
  const answers = answersOf(questions, draft.answers);
  const complete = isComplete(questions, answers);
  const sent = answer.isPending || answer.isSuccess;

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
        <div className={css.buttons}>
          <Button
            type="submit"
            disabled={!complete || !armed || !canAnswer || sent}
            loading={sent}
            onClick={() => answer.mutate(answers)}
          >
            Submit
          </Button>
        </div>
      </div>
    </>
  );
}
