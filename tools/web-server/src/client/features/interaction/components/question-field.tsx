import type { Question } from '@callboard/contract';
import { Textarea, TextInput } from '@mantine/core';
import clsx from 'clsx';
import { useId, useState } from 'react';
import { CodeBlock } from '../../../ui/code.tsx';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { type AnswerDraft, choose, typeOther } from '../model/question-answers.ts';
import css from './request.module.css';

interface QuestionFieldProps {
  question: Question;
  draft: AnswerDraft;
  disabled: boolean;
  /** Whether digits take its options. `off`: they will once the form is armed. */
  digits: 'on' | 'off' | 'none';
  change: (draft: AnswerDraft) => void;
}

/** One question with its options as large rows, and a field for free text. */
export function QuestionField({ question, draft, disabled, digits, change }: QuestionFieldProps) {
  const options = question.options ?? [];
  return (
    <div className={css.question}>
      <fieldset disabled={disabled}>
        <legend className={css.legend}>
          {question.header !== undefined && question.header !== '' && (
            <span className={css.chip}>
              <Seen text={question.header} kind="prose" />
            </span>
          )}
          <Seen text={question.question} kind="prose" />
        </legend>
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
      </fieldset>
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
    <div className={clsx(hasPreviews && css.withPreviews)}>
      <div className={css.options}>
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
      </div>
      {hasPreviews && (
        <figure className={css.preview}>
          <figcaption>
            <Seen text={shown ?? ''} kind="prose" />
          </figcaption>
          {preview === undefined ? <p className={css.why}>No preview.</p> : <CodeBlock text={preview} />}
        </figure>
      )}
    </div>
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
        <span className={css.label} id={`${id}label`}>
          <Seen text={label} kind="prose" />
        </span>
        {description !== undefined && (
          <span className={css.description} id={`${id}description`}>
            <Seen text={description} kind="prose" />
          </span>
        )}
      </span>
      {digits !== 'none' && digit !== null && <KeyHint isOff={digits === 'off'}>{digit}</KeyHint>}
    </label>
  );
}
