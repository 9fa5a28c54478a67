import { parseTemplate, TEMPLATE_NAMES, type TemplateName } from '@callboard/contract';
import { Textarea } from '@mantine/core';
import { useState } from 'react';
import css from './phases-editor.module.css';

interface TemplateFieldProps {
  label: string;
  /** Its accessible name. */
  name: string;
  placeholder?: string;
  className?: string | undefined;
  value: string;
  change: (text: string) => void;
}

/** A text with names in double braces. What is wrong with them is said once the field is left. */
export function TemplateField({ label, name, placeholder, className, value, change }: TemplateFieldProps) {
  const [isLeft, setLeft] = useState(false);
  const parsed = parseTemplate(value);
  return (
    <Textarea
      label={label}
      placeholder={placeholder}
      className={className}
      value={value}
      aria-label={name}
      autosize
      minRows={label === 'Prompt' ? 2 : 1}
      maxRows={8}
      error={isLeft && 'problem' in parsed ? `It ${parsed.problem}.` : undefined}
      onFocus={() => setLeft(false)}
      onBlur={() => setLeft(true)}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

const MEANINGS: Readonly<Record<TemplateName, string>> = {
  'stage.title': 'The title of the stage',
  'stage.prompt': 'The prompt of the stage. The first message begins with it if the first phase does not use it',
  'previous.result': 'What Claude said last in the phase before',
  'check.output': 'The end of what the last check printed',
};

/** The names for prompts, and what each stands for. */
export const TemplateNames = () => (
  <details className={css.names}>
    <summary>Names for prompts</summary>
    <dl>
      {TEMPLATE_NAMES.map((name) => (
        <div key={name}>
          <dt>
            <code>{`{{${name}}}`}</code>
          </dt>
          <dd>{MEANINGS[name]}</dd>
        </div>
      ))}
      <div>
        <dt>
          <code>{String.raw`\{{`}</code>
        </dt>
        <dd>The braces themselves</dd>
      </div>
    </dl>
  </details>
);
