import { questionsOf } from '@callboard/contract';
import { Anchor } from '@mantine/core';
import { useRef } from 'react';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Note } from '../../../ui/note.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { useShortcuts } from '../../../ui/shortcuts.ts';
import { useDraft } from '../api/use-draft.ts';
import { useCanDecide } from '../api/use-request.ts';
import {
  answersOf,
  choose,
  EMPTY_ANSWER,
  isComplete,
  openQuestion,
  progress,
  questionName,
} from '../model/question-answers.ts';
import { withAnswer } from '../model/request-drafts.ts';
import { delayedFor, type FormProps } from '../model/verdict.ts';
import { type Press, useDecision, useKeysWork } from './decision-place.tsx';
import { QuestionField } from './question-field.tsx';
import { ReasonField } from './reason-field.tsx';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { StillSending } from './still-sending.tsx';
import { useUnsentTextWarning } from './unsent-text-warning.tsx';
import { useVerdictKeys } from './use-verdict-keys.ts';
import { VerdictButton } from './verdict-actions.tsx';

/** One or more questions. Their answers are sent together once each has one. A person may decline to answer. */
export function QuestionBody({ request, answer }: FormProps) {
  const [draft, change] = useDraft(request);
  const canAnswer = useCanDecide(request);
  const questions = questionsOf(request.input);
  const answers = answersOf(questions, draft.answers);
  const complete = isComplete(questions, answers);
  const open = progress(questions, answers);
  const list = useRef<HTMLDivElement>(null);
  const sent = answer.isPending || answer.isSuccess;
  const off = sent || !canAnswer;
  const isDeclining = answer.variables !== undefined && 'decision' in answer.variables;
  const reason = draft.reason.trim();
  const { guard, note } = useUnsentTextWarning({ request, yes: 'Submit', no: 'Decline' });
  const submit = guard((press) => answer.mutate({ answers, ...delayedFor(press) }));
  const decline = (press?: Press) =>
    answer.mutate({ decision: 'deny', ...(reason === '' ? {} : { reason }), ...delayedFor(press) });
  useVerdictKeys({ act: submit, isOff: off || !complete }, { act: decline, isOff: off });

  const keysWork = useKeysWork();
  const current = openQuestion(questions, answers);
  useOptionKeys((place) => {
    const question = questions[current];
    const option = question?.options?.[place];
    if (question === undefined || option === undefined || off) return false;
    const given = draft.answers[current] ?? EMPTY_ANSWER;
    const next = choose(question, given, option.label, !given.chosen.includes(option.label));
    change({ answers: withAnswer(draft, current, next) });
    return true;
  });

  return (
    <>
      <div className={css.scroll} ref={list}>
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
            digits={index === current ? (keysWork ? 'on' : 'off') : 'none'}
            change={(next) => change({ answers: withAnswer(draft, index, next) })}
          />
        ))}
      </div>
      <div className={css.actions}>
        {answer.isError && (
          <div className={css.problem}>
            <ErrorNote error={answer.error} />
          </div>
        )}
        <StillSending isPending={answer.isPending} />
        {!sent && note}
        {open !== null && (
          <p className={css.caption}>
            {open.text}{' '}
            <Anchor component="button" type="button" inherit onClick={() => focusQuestion(list.current, open.next)}>
              Next: <Seen text={questionName(questions[open.next] ?? { question: '' })} kind="prose" />
            </Anchor>
          </p>
        )}
        <ReasonField request={request} placeholder="Tell Claude why (optional)" disabled={sent} />
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

/** Scrolls to a question, and puts the focus on its first option or field. */
function focusQuestion(list: HTMLElement | null, place: number): void {
  const question = list?.querySelectorAll('fieldset')[place];
  question?.scrollIntoView({ block: 'nearest' });
  question?.querySelector<HTMLElement>('input, textarea')?.focus({ preventScroll: true });
}

const DIGITS = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];

/** 1 to 9 take an option of the open question while the form is armed. @param take gets the option's index */
function useOptionKeys(take: (place: number) => boolean): void {
  const { mayKeyDecide } = useDecision();
  const byKey = (place: number) => (event: KeyboardEvent) => mayKeyDecide(event) && take(place);
  useShortcuts(Object.fromEntries(DIGITS.map((digit, place) => [digit, byKey(place)])));
}
