import { ActionIcon, Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPlus, IconTrash } from '@tabler/icons-react';
import { MODE_OPTIONS } from '../../../lib/permission-modes.ts';
import { emptyPhase, type PhaseForm, type StageFormControl } from '../model/stage-form.ts';
import css from './forms.module.css';

/** Edits the stage's phases, which follow one another in one conversation. */
export function PhasesEditor({ form, set, errors, startedPhases }: StageFormControl & { startedPhases: number }) {
  const { phases } = form;
  const change = (index: number, part: Partial<PhaseForm>) =>
    set({ phases: phases.map((phase, at) => (at === index ? { ...phase, ...part } : phase)) });
  const move = (index: number, by: number) => {
    const rest = phases.filter((_, at) => at !== index);
    set({ phases: rest.toSpliced(index + by, 0, ...phases.slice(index, index + 1)) });
  };
  return (
    <fieldset className={css.phases}>
      <legend>Phases</legend>
      <p className={css.about}>
        Steps that follow one another in the same conversation. Without any, the stage is its prompt alone.
      </p>
      {phases.map((phase, index) => (
        <fieldset key={phase.key} className={css.phase} disabled={index < startedPhases}>
          <legend className="visually-hidden">Phase {index + 1}</legend>
          <div className={css.phaseHead}>
            <TextInput
              className={css.grow}
              label={`Name of phase ${index + 1}`}
              placeholder={index === 0 ? 'Design' : 'Build'}
              value={phase.name}
              onChange={(event) => change(index, { name: event.currentTarget.value })}
            />
            <NativeSelect
              label="Mode"
              aria-label={`Mode of phase ${index + 1}`}
              data={[{ value: '', label: 'As before' }, ...MODE_OPTIONS]}
              value={phase.permissionMode}
              onChange={(event) => change(index, { permissionMode: event.currentTarget.value })}
            />
            <ActionIcon.Group>
              <PhaseButton
                label={`Move phase ${index + 1} up`}
                off={index <= startedPhases}
                act={() => move(index, -1)}
                Icon={IconArrowUp}
              />
              <PhaseButton
                label={`Move phase ${index + 1} down`}
                off={index === phases.length - 1}
                act={() => move(index, 1)}
                Icon={IconArrowDown}
              />
              <PhaseButton
                label={`Remove phase ${index + 1}`}
                off={false}
                act={() => set({ phases: phases.filter((_, at) => at !== index) })}
                Icon={IconTrash}
              />
            </ActionIcon.Group>
          </div>
          <Textarea
            label="Prompt"
            aria-label={`Prompt of phase ${index + 1}`}
            autosize
            minRows={2}
            maxRows={8}
            value={phase.prompt}
            onChange={(event) => change(index, { prompt: event.currentTarget.value })}
          />
          {index < phases.length - 1 && (
            <Checkbox
              label="Ask me before the next phase begins"
              checked={phase.gate}
              onChange={(event) => change(index, { gate: event.currentTarget.checked })}
            />
          )}
        </fieldset>
      ))}
      {errors.phases !== undefined && (
        <p className={css.error} role="alert">
          {errors.phases}
        </p>
      )}
      <Button
        className={css.add}
        variant="default"
        size="compact-sm"
        leftSection={<IconPlus size={14} />}
        onClick={() => set({ phases: [...phases, emptyPhase()] })}
      >
        Add phase
      </Button>
    </fieldset>
  );
}

interface PhaseButtonProps {
  label: string;
  off: boolean;
  act: () => void;
  Icon: typeof IconTrash;
}

const PhaseButton = ({ label, off, act, Icon }: PhaseButtonProps) => (
  <ActionIcon variant="default" size={36} aria-label={label} title={label} disabled={off} onClick={act}>
    <Icon size={16} />
  </ActionIcon>
);
