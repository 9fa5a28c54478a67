import { NativeSelect, TextInput } from '@mantine/core';
import type { PhaseForm } from '../lib/phase-form.ts';
import css from './phases-editor.module.css';
import { TemplateField } from './template-field.tsx';

interface GateFieldsProps {
  phase: PhaseForm;
  index: number;
  isLast: boolean;
  change: (index: number, part: Partial<PhaseForm>) => void;
}

const NEXT_STARTS = 'The next phase starts automatically';

/** What decides at the end of a phase. */
export function GateFields({ phase, index, isLast, change }: GateFieldsProps) {
  const options = isLast
    ? [
        { value: 'none', label: 'The stage is complete' },
        { value: 'human', label: 'You review the stage and finish it' },
        { value: 'check', label: 'A command decides' },
      ]
    : [
        { value: 'human', label: 'You start the next phase' },
        { value: 'none', label: phase.isReview ? 'Without findings, the next phase starts' : NEXT_STARTS },
        { value: 'check', label: 'A command decides' },
      ];
  return (
    <div className={css.gate}>
      <NativeSelect
        label="When it is finished"
        aria-label={`When phase ${index + 1} is finished`}
        data={phase.isReview ? options.filter(({ value }) => value !== 'check') : options}
        value={phase.gate}
        onChange={({ currentTarget }) => {
          const gate = currentTarget.value;
          if (gate === 'none' || gate === 'human' || gate === 'check') change(index, { gate });
        }}
      />
      {phase.gate === 'check' && (
        <>
          <TextInput
            className={css.command}
            label="Command"
            aria-label={`Check of phase ${index + 1}`}
            placeholder="npm test"
            value={phase.command}
            spellCheck={false}
            autoCapitalize="off"
            onChange={(event) => change(index, { command: event.currentTarget.value })}
          />
          <TextInput
            className={css.number}
            label="Minutes"
            aria-label={`Time limit of the check of phase ${index + 1}, in minutes`}
            inputMode="decimal"
            value={phase.minutes}
            onChange={(event) => change(index, { minutes: event.currentTarget.value })}
          />
          <TextInput
            className={css.number}
            label="Attempts"
            aria-label={`Attempts of phase ${index + 1}`}
            inputMode="numeric"
            value={phase.attempts}
            onChange={(event) => change(index, { attempts: event.currentTarget.value })}
          />
          <p className={css.about}>
            Runs in the worktree. A failure goes back to Claude; after the last attempt you decide.
          </p>
          <TemplateField
            className={css.message}
            label="Message after a failure"
            name={`Message after a failure of phase ${index + 1}`}
            placeholder="Empty: Callboard says how it ended, with the end of the output"
            value={phase.message}
            change={(message) => change(index, { message })}
          />
        </>
      )}
    </div>
  );
}
