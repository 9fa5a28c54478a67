import { TEMPLATE_NAMES } from '@callboard/contract';
import { ActionIcon, Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPlus, IconTrash } from '@tabler/icons-react';
import { MODE_OPTIONS } from '../lib/permission-modes.ts';
import { emptyPhase, type PhaseForm } from '../lib/phase-form.ts';
import css from './phases-editor.module.css';

interface PhasesEditorProps {
  phases: readonly PhaseForm[];
  change: (phases: PhaseForm[]) => void;
  /** What is wrong, as a sentence. */
  error?: string | undefined;
  /** How many phases have begun: those stay as they are. */
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
        <fieldset key={phase.key} className={css.phase} disabled={index < started}>
          <legend className="visually-hidden">Phase {index + 1}</legend>
          <PhaseHead {...{ phases, phase, index, started, move }} change={changeOne} remove={remove} />
          <Textarea
            label="Prompt"
            aria-label={`Prompt of phase ${index + 1}`}
            autosize
            minRows={2}
            maxRows={8}
            value={phase.prompt}
            onChange={(event) => changeOne(index, { prompt: event.currentTarget.value })}
          />
          {index > 0 && (
            <Checkbox
              label="In a new conversation"
              description="Claude then knows of the phases before it only what the prompt says"
              checked={phase.isFresh}
              onChange={(event) => changeOne(index, { isFresh: event.currentTarget.checked })}
            />
          )}
          <GateFields phase={phase} index={index} isLast={index === phases.length - 1} change={changeOne} />
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
        {phases.length > 0 && (
          <p className={css.about}>Prompts may use {TEMPLATE_NAMES.map((name) => `{{${name}}}`).join(', ')}</p>
        )}
      </div>
    </fieldset>
  );
}

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

interface GateFieldsProps {
  phase: PhaseForm;
  index: number;
  isLast: boolean;
  change: (index: number, part: Partial<PhaseForm>) => void;
}

/** What decides at the end of a phase. */
function GateFields({ phase, index, isLast, change }: GateFieldsProps) {
  const options = isLast
    ? [
        { value: 'none', label: 'You review the stage' },
        { value: 'check', label: 'A command decides' },
      ]
    : [
        { value: 'human', label: 'You start the next phase' },
        { value: 'none', label: 'The next phase starts automatically' },
        { value: 'check', label: 'A command decides' },
      ];
  const value = isLast && phase.gate === 'human' ? 'none' : phase.gate;
  return (
    <div className={css.gate}>
      <NativeSelect
        label="When it is finished"
        aria-label={`When phase ${index + 1} is finished`}
        data={options}
        value={value}
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
        </>
      )}
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
