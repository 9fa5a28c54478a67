import type { Question } from '@callboard/contract';
import { TextInput } from '@mantine/core';
import { useId } from 'react';
import { CodeBlock } from '../../../ui/code.tsx';
import { type AnswerDraft, choose, typeOther } from '../model/answers.ts';
import css from './request.module.css';

interface QuestionFieldProps {
  question: Question;
  draft: AnswerDraft;
  disabled: boolean;
  change: (draft: AnswerDraft) => void;
}

/** One question with its options as large rows, and room for an answer of one's own. */
export function QuestionField({ question, draft, disabled, change }: QuestionFieldProps) {
  const name = useId();
  const options = question.options ?? [];
  return (
    <div className={css.question}>
      <fieldset disabled={disabled}>
        <legend className={css.legend}>
          {question.header !== undefined && question.header !== '' && (
            <span className={css.chip}>{question.header}</span>
          )}
          {question.question}
        </legend>
        {options.map((option) => (
          <Option
            key={option.label}
            {...option}
            name={name}
            type={question.multiSelect === true ? 'checkbox' : 'radio'}
            checked={draft.chosen.includes(option.label)}
            change={(on) => change(choose(question, draft, option.label, on))}
          />
        ))}
        <TextInput
          aria-label={options.length > 0 ? 'Other' : 'Your answer'}
          placeholder={options.length > 0 ? 'Other' : 'Your answer'}
          value={draft.other}
          autoComplete="off"
          styles={{ input: draft.otherOn ? { borderColor: 'var(--accent)' } : {} }}
          onChange={(event) => change(typeOther(question, draft, event.currentTarget.value))}
        />
      </fieldset>
    </div>
  );
}

interface OptionProps {
  label: string;
  description?: string | undefined;
  preview?: string | undefined;
  name: string;
  type: 'checkbox' | 'radio';
  checked: boolean;
  change: (on: boolean) => void;
}

function Option({ label, description, preview, name, type, checked, change }: OptionProps) {
  const id = useId();
  return (
    <label className={css.option}>
      <input
        type={type}
        name={name}
        checked={checked}
        aria-labelledby={`${id}label`}
        aria-describedby={description === undefined ? undefined : `${id}description`}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      <span>
        <span className={css.label} id={`${id}label`}>
          {label}
        </span>
        {description !== undefined && (
          <span className={css.description} id={`${id}description`}>
            {description}
          </span>
        )}
        {preview !== undefined && checked && (
          <span className={css.preview}>
            <CodeBlock text={preview} />
          </span>
        )}
      </span>
    </label>
  );
}
