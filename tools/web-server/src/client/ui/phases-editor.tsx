import { parseTemplate, TEMPLATE_NAMES, type TemplateName } from '@callboard/contract';
import { ActionIcon, Box, Button, Checkbox, Flex, Group, NativeSelect, Text, Textarea, TextInput } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { emptyPhase, type PhaseForm } from '../lib/phases.ts';
import { MODE_OPTIONS } from '../lib/stage-options.ts';
import { FactList, Hint, Indented } from './primitives.tsx';

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
    <Flex component="fieldset" direction="column" gap="md">
      <legend>Phases</legend>
      <Hint w="100%">{about}</Hint>
      {phases.map((phase, index) => (
        <Indented component="fieldset" key={phase.key}>
          <legend className="visually-hidden">Phase {index + 1}</legend>
          <Flex component="fieldset" direction="column" gap="sm" disabled={index < started}>
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
          </Flex>
          <Flex component="fieldset" direction="column" gap="sm" disabled={index < started - 1}>
            <GateFields phase={phase} index={index} isLast={index === phases.length - 1} change={changeOne} />
          </Flex>
        </Indented>
      ))}
      {error !== undefined && (
        <Text size="row" data-tone="fail" role="alert">
          {error}
        </Text>
      )}
      <Group gap="8px 12px">
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} />}
          onClick={() => change([...phases, emptyPhase()])}
        >
          Add phase
        </Button>
      </Group>
      {phases.length > 0 && <TemplateNames />}
    </Flex>
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
    <Group align="flex-end">
      <TextInput
        flex={1}
        miw={160}
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
    </Group>
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

interface GateFieldsProps {
  phase: PhaseForm;
  index: number;
  isLast: boolean;
  change: (index: number, part: Partial<PhaseForm>) => void;
}

const NEXT_STARTS = 'The next phase starts automatically';

/** What decides at the end of a phase. */
function GateFields({ phase, index, isLast, change }: GateFieldsProps) {
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
    <Group align="flex-end">
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
            flex="1 1 200px"
            miw={160}
            ff="monospace"
            label="Command"
            aria-label={`Check of phase ${index + 1}`}
            placeholder="npm test"
            value={phase.command}
            spellCheck={false}
            autoCapitalize="off"
            onChange={(event) => change(index, { command: event.currentTarget.value })}
          />
          <TextInput
            w={80}
            label="Minutes"
            aria-label={`Time limit of the check of phase ${index + 1}, in minutes`}
            inputMode="decimal"
            value={phase.minutes}
            onChange={(event) => change(index, { minutes: event.currentTarget.value })}
          />
          <TextInput
            w={80}
            label="Attempts"
            aria-label={`Attempts of phase ${index + 1}`}
            inputMode="numeric"
            value={phase.attempts}
            onChange={(event) => change(index, { attempts: event.currentTarget.value })}
          />
          <Hint w="100%">Runs in the worktree. A failure goes back to Claude; after the last attempt you decide.</Hint>
          <TemplateField
            label="Message after a failure"
            name={`Message after a failure of phase ${index + 1}`}
            placeholder="Empty: Callboard says how it ended, with the end of the output"
            value={phase.message}
            change={(message) => change(index, { message })}
          />
        </>
      )}
    </Group>
  );
}

interface TemplateFieldProps {
  label: string;
  /** Its accessible name. */
  name: string;
  placeholder?: string;
  value: string;
  change: (text: string) => void;
}

/** A text with names in double braces. What is wrong with them is said once the field is left. */
function TemplateField({ label, name, placeholder, value, change }: TemplateFieldProps) {
  const [isLeft, setLeft] = useState(false);
  const parsed = parseTemplate(value);
  return (
    <Textarea
      label={label}
      placeholder={placeholder}
      w="100%"
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
const TemplateNames = () => (
  <Box component="details" fz="row" c="dimmed">
    <summary>Names for prompts</summary>
    <FactList>
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
    </FactList>
  </Box>
);
