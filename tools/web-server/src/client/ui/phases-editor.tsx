import { ActionIcon, Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPlus, IconTrash } from '@tabler/icons-react';
import { MODE_OPTIONS } from '../lib/permission-modes.ts';
import { emptyPhase, type PhaseForm } from '../lib/phase-form.ts';
import { GateFields } from './gate-fields.tsx';
import css from './phases-editor.module.css';
import { TemplateField, TemplateNames } from './template-field.tsx';

interface PhasesEditorProps {
  phases: readonly PhaseForm[];
  change: (phases: PhaseForm[]) => void;
  /** What is wrong, as a sentence. */
  error?: string | undefined;
  /** How many phases have begun: those stay as they are, but for the gate of the last one of them. */
  started?: number;
  /** What stands above the phases. */
  about: string;
}

/** Edits phases, which follow one another. */
export function PhasesEditor({ phases, change, error, started = 0, about }: PhasesEditorProps) {
  const changeOne = (index: number, part: Partial<PhaseForm>) =>
    change(phases.map((phase, at) => (at === index ? { ...phase, ...part } : phase)));
  const move = (index: number, by: number) => {
    const rest = phases.filter((_, at) => at !== index);
    change(rest.toSpliced(index + by, 0, ...phases.slice(index, index + 1)));
  };
  const remove = (index: number) => change(phases.filter((_, at) => at !== index));
  return (
    <fieldset className={css.phases}>
      <legend>Phases</legend>
      <p className={css.about}>{about}</p>
      {phases.map((phase, index) => (
        <fieldset key={phase.key} className={css.phase}>
          <legend className="visually-hidden">Phase {index + 1}</legend>
          <fieldset className={css.part} disabled={index < started}>
            <PhaseHead
              phases={phases}
              phase={phase}
              index={index}
              started={started}
              move={move}
              change={changeOne}
              remove={remove}
            />
            <TemplateField
              label="Prompt"
              name={`Prompt of phase ${index + 1}`}
              value={phase.prompt}
              change={(prompt) => changeOne(index, { prompt })}
            />
            {index > 0 && (
              <Checkbox
                label="Claude reviews the changes"
                description="In a conversation of its own, and without changing anything. Its findings become comments"
                checked={phase.isReview}
                onChange={(event) => changeOne(index, reviewOf(phase, event.currentTarget.checked))}
              />
            )}
            {index > 0 && !phase.isReview && (
              <Checkbox
                label="In a new conversation"
                description="Claude then knows of the phases before it only what the prompt says"
                checked={phase.isFresh}
                onChange={(event) => changeOne(index, { isFresh: event.currentTarget.checked })}
              />
            )}
          </fieldset>
          <fieldset className={css.part} disabled={index < started - 1}>
            <GateFields phase={phase} index={index} isLast={index === phases.length - 1} change={changeOne} />
          </fieldset>
        </fieldset>
      ))}
      {error !== undefined && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
      <div className={css.foot}>
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} />}
          onClick={() => change([...phases, emptyPhase()])}
        >
          Add phase
        </Button>
      </div>
      {phases.length > 0 && <TemplateNames />}
    </fieldset>
  );
}

/** A review has no check: nothing was built in it. */
const reviewOf = ({ gate }: PhaseForm, isReview: boolean): Partial<PhaseForm> => ({
  isReview,
  ...(isReview && gate === 'check' && { gate: 'human' }),
});

interface PhaseHeadProps {
  phases: readonly PhaseForm[];
  phase: PhaseForm;
  index: number;
  started: number;
  change: (index: number, part: Partial<PhaseForm>) => void;
  move: (index: number, by: number) => void;
  remove: (index: number) => void;
}

/** The name and mode of a phase, and its place. */
function PhaseHead({ phases, phase, index, started, change, move, remove }: PhaseHeadProps) {
  return (
    <div className={css.head}>
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
          off={index <= started}
          act={() => move(index, -1)}
          Icon={IconArrowUp}
        />
        <PhaseButton
          label={`Move phase ${index + 1} down`}
          off={index === phases.length - 1}
          act={() => move(index, 1)}
          Icon={IconArrowDown}
        />
        <PhaseButton label={`Remove phase ${index + 1}`} off={false} act={() => remove(index)} Icon={IconTrash} />
      </ActionIcon.Group>
    </div>
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
