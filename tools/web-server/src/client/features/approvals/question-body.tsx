import {
  contentOf,
  type FieldValue,
  type FormField,
  fieldProblem,
  fieldsOf,
  isFilledIn,
  type Question,
  questionsOf,
} from '@callboard/contract';
import { Anchor, Badge, Box, Checkbox, Flex, NativeSelect, Text, Textarea, TextInput } from '@mantine/core';
import { useId, useRef, useState } from 'react';
import { field } from '../../lib/tool-text.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { Columns, Hint, Panel } from '../../ui/primitives.tsx';
import { KeyHint, useShortcuts } from '../../ui/shortcuts.tsx';
import { Seen } from '../../ui/text.tsx';
import { DecisionButton, type Press, useDecisionGuard, useKeysWork, useVerdictKeys } from './decision-slot.tsx';
import css from './request.module.css';
import {
  type AnswerDraft,
  answersOf,
  choose,
  EMPTY_ANSWER,
  isComplete,
  openQuestion,
  progress,
  questionName,
  typeOther,
  useDraft,
  withAnswer,
} from './request-drafts.ts';
import { delayedFor, type FormProps, useCanDecide } from './use-request.ts';
import {
  ReasonField,
  RequestMeta,
  StillSending,
  useUnsentTextWarning,
  VerdictActions,
  VerdictButton,
} from './verdict-actions.tsx';

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
          <Box flex="1 0 100%">
            <ErrorNote error={answer.error} />
          </Box>
        )}
        <StillSending isPending={answer.isPending} />
        {!sent && note}
        {open !== null && (
          <Hint flex="1 0 100%">
            {open.text}{' '}
            <Anchor component="button" type="button" inherit onClick={() => focusQuestion(list.current, open.next)}>
              Next: <Seen text={questionName(questions[open.next] ?? { question: '' })} kind="prose" />
            </Anchor>
          </Hint>
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
  const { mayKeyDecide } = useDecisionGuard();
  const byKey = (place: number) => (event: KeyboardEvent) => mayKeyDecide(event) && take(place);
  useShortcuts(Object.fromEntries(DIGITS.map((digit, place) => [digit, byKey(place)])));
}

interface QuestionFieldProps {
  question: Question;
  draft: AnswerDraft;
  disabled: boolean;
  /** Whether digits take its options. `off`: they will once the form is armed. */
  digits: 'on' | 'off' | 'none';
  change: (draft: AnswerDraft) => void;
}

/** One question with its options as large rows, and a field for free text. */
function QuestionField({ question, draft, disabled, digits, change }: QuestionFieldProps) {
  const options = question.options ?? [];
  return (
    <div className={css.question}>
      <Flex component="fieldset" direction="column" gap="sm" disabled={disabled}>
        <Text component="legend" fw={600} mb="sm">
          {question.header !== undefined && question.header !== '' && (
            <Badge variant="default" size="sm" tt="none" fw={500} mr="sm">
              <Seen text={question.header} kind="prose" />
            </Badge>
          )}
          <Seen text={question.question} kind="prose" />
        </Text>
        {options.length > 0 ? (
          <>
            <Options question={question} draft={draft} digits={digits} change={change} />
            <TextInput
              aria-label="Other"
              placeholder="Other"
              value={draft.other}
              autoComplete="off"
              styles={{ input: draft.otherOn ? { borderColor: 'var(--accent)' } : {} }}
              onChange={(event) => change(typeOther(question, draft, event.currentTarget.value))}
            />
          </>
        ) : (
          <Textarea
            aria-label="Your answer"
            placeholder="Your answer"
            autosize
            minRows={2}
            maxRows={10}
            value={draft.other}
            onChange={(event) => change(typeOther(question, draft, event.currentTarget.value))}
          />
        )}
      </Flex>
    </div>
  );
}

/** The options. If they have previews, the one of the option pointed at, or else chosen, is beside them. */
function Options({ question, draft, digits, change }: Omit<QuestionFieldProps, 'disabled'>) {
  const name = useId();
  const options = question.options ?? [];
  const [checked, setChecked] = useState<string | null>(null);
  const hasPreviews = options.some((option) => option.preview !== undefined);
  const shown = checked ?? draft.chosen[0] ?? options[0]?.label;
  const preview = options.find((option) => option.label === shown)?.preview;
  return (
    <Columns min={280}>
      <Panel p={0} gap={0} style={{ overflow: 'hidden' }}>
        {options.map((option, place) => (
          <Option
            key={option.label}
            {...option}
            name={name}
            type={question.multiSelect === true ? 'checkbox' : 'radio'}
            checked={draft.chosen.includes(option.label)}
            change={(on) => change(choose(question, draft, option.label, on))}
            check={() => setChecked(option.label)}
            digit={place < 9 ? String(place + 1) : null}
            digits={digits}
          />
        ))}
      </Panel>
      {hasPreviews && (
        <Box component="figure" m={0} miw={0}>
          <Hint component="figcaption" mb="xs">
            <Seen text={shown ?? ''} kind="prose" />
          </Hint>
          {preview === undefined ? <Hint>No preview.</Hint> : <CodeBlock text={preview} />}
        </Box>
      )}
    </Columns>
  );
}

interface OptionProps {
  label: string;
  description?: string | undefined;
  name: string;
  type: 'checkbox' | 'radio';
  checked: boolean;
  change: (on: boolean) => void;
  check: () => void;
  digit: string | null;
  digits: QuestionFieldProps['digits'];
}

function Option({ label, description, name, type, checked, change, check, digit, digits }: OptionProps) {
  const id = useId();
  return (
    // biome-ignore lint/a11y/useKeyWithMouseEvents: the box inside handles the focus
    <label className={css.option} onMouseOver={check}>
      <input
        type={type}
        name={name}
        checked={checked}
        aria-labelledby={`${id}label`}
        aria-describedby={description === undefined ? undefined : `${id}description`}
        aria-keyshortcuts={digits === 'on' && digit !== null ? digit : undefined}
        onFocus={check}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      <span>
        <Text span fw={500} display="block" id={`${id}label`}>
          <Seen text={label} kind="prose" />
        </Text>
        {description !== undefined && (
          <Hint span display="block" id={`${id}description`}>
            <Seen text={description} kind="prose" />
          </Hint>
        )}
      </span>
      {digits !== 'none' && digit !== null && <KeyHint isOff={digits === 'off'}>{digit}</KeyHint>}
    </label>
  );
}

/** A form that an MCP server asks a person to fill in. */
export function ElicitationBody({ request, approve }: FormProps) {
  const [draft, change] = useDraft(request);
  const fields = fieldsOf(request.input);
  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        <p>
          <Seen text={field(request.input, 'message')} kind="prose" />
        </p>
        {fields.map((one) => (
          <ElicitationField
            key={one.name}
            field={one}
            value={draft.fields[one.name] ?? one.initial}
            set={(value) => change({ fields: { ...draft.fields, [one.name]: value } })}
          />
        ))}
      </div>
      <VerdictActions
        request={request}
        approve={approve}
        reasonLabel={null}
        beside={<Cancel request={request} approve={approve} />}
        yes="Send"
        no="Decline"
        allowWith={{ updatedInput: contentOf(fields, draft.fields) }}
        incomplete={!isFilledIn(fields, draft.fields)}
      />
    </>
  );
}

/** Closes the form without an answer: the server hears neither yes nor no. */
function Cancel({ request, approve }: Pick<FormProps, 'request' | 'approve'>) {
  const canAnswer = useCanDecide(request);
  const sent = approve.isPending || approve.isSuccess;
  const cancel = (press: Press) => approve.mutate({ decision: 'deny', cancel: true, ...delayedFor(press) });
  return (
    <DecisionButton variant="subtle" disabled={sent || !canAnswer} act={cancel}>
      Cancel
    </DecisionButton>
  );
}

interface ElicitationFieldProps {
  field: FormField;
  value: FieldValue;
  set: (value: FieldValue) => void;
}

function ElicitationField({
  field: { label, description, kind, choices, required },
  value,
  set,
}: ElicitationFieldProps) {
  const common = { label, description, required };
  switch (kind) {
    case 'flag':
      return (
        <Checkbox
          label={label}
          description={description}
          checked={value === true}
          onChange={(event) => set(event.currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <NativeSelect
          {...common}
          data={[{ value: '', label: '' }, ...choices]}
          value={String(value)}
          onChange={(event) => set(event.currentTarget.value)}
        />
      );
    case 'number':
    case 'text':
      return (
        <TextInput
          {...common}
          inputMode={kind === 'number' ? 'decimal' : 'text'}
          error={fieldProblem(kind, value)}
          value={String(value)}
          onChange={(event) => set(event.currentTarget.value)}
        />
      );
    default:
      return kind satisfies never;
  }
}
