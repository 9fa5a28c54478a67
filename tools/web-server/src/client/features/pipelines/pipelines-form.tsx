import {
  FinishWay,
  findPipeline,
  type NamedPipeline,
  type Project,
  type ProjectPatch,
  ProjectPipeline,
} from '@callboard/contract';
import { Button, Flex, NativeSelect, Stack, TextInput } from '@mantine/core';
import { IconChevronDown, IconChevronRight, IconPlus } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useUnsaved } from '../../data/unsaved-forms.ts';
import { gateText } from '../../lib/check-text.ts';
import { count } from '../../lib/format.ts';
import { emptyPhase, type PhaseForm, phaseOf, phaseProblem } from '../../lib/phases.ts';
import { inForce, phasesOf, pipelinesIn } from '../../lib/stage-form.ts';
import { FINISH_OPTIONS, FINISH_ORDER, FINISH_TEXTS } from '../../lib/stage-options.ts';
import { PhasesEditor } from '../../ui/phases-editor.tsx';
import { Columns, Hint, Panel, RowButton } from '../../ui/primitives.tsx';

/** What is typed of a project's pipelines, and of how its stages are finished. */
export function usePipelineFields(project: Project) {
  const [forms, setForms] = useState(() => pipelineFormsOf(project));
  const [finish, setFinish] = useState<FinishWay>(inForce(project).finish);
  const [errors, setErrors] = useState<Record<string, PipelineErrors>>({});
  const [open, setOpen] = useState<string | null>(null);
  const unsaved = useUnsaved('pipelines', { forms, finish });
  const isOfFile = project.file?.settings.finish !== undefined;
  return {
    ...unsaved,
    fields: { forms, setForms, finish, setFinish, errors, open, setOpen, isOfFile },
    /** Null if something cannot be read: its pipeline opens and says why. */
    read(): ProjectPatch | null {
      const read = readPipelineForms(forms);
      setErrors('errors' in read ? read.errors : {});
      if ('pipelines' in read) return { settings: { pipelines: read.pipelines, ...(isOfFile ? {} : { finish }) } };
      setOpen(Object.keys(read.errors)[0] ?? null);
      return null;
    },
  };
}

type PipelineFieldsProps = { project: Project } & ReturnType<typeof usePipelineFields>['fields'];

/** The pipelines of a project: its own, to be edited, and those of `callboard.yaml` and of Callboard; how its stages are finished. */
export function PipelineFields({ project, ...fields }: PipelineFieldsProps) {
  const { forms, setForms, finish, setFinish, errors, open, setOpen, isOfFile } = fields;
  const add = (pipeline: PipelineForm) => {
    setForms([...forms, pipeline]);
    setOpen(pipeline.key);
  };
  const [ofFile, builtIn] = [givenOf(project, 'file'), givenOf(project, 'built-in')];
  return (
    <>
      <NativeSelect
        label="After the last phase of a stage"
        description={isOfFile ? `Set by callboard.yaml. ${FINISH_ORDER}` : FINISH_ORDER}
        data={FINISH_OPTIONS}
        disabled={isOfFile}
        value={finish}
        onChange={({ currentTarget: { value } }) =>
          setFinish(FINISH_OPTIONS.find((option) => option.value === value)?.value ?? 'none')
        }
      />
      <PipelineGroup title="Custom pipelines">
        {forms.length === 0 && <Hint>None yet. Add one, or copy one of those below.</Hint>}
        {forms.map((form) => (
          <OwnPipeline
            key={form.key}
            form={form}
            errors={errors[form.key] ?? {}}
            isOpen={open === form.key}
            toggle={() => setOpen(open === form.key ? null : form.key)}
            change={(part) => setForms(forms.map((one) => (one.key === form.key ? { ...one, ...part } : one)))}
            remove={() => setForms(forms.filter(({ key }) => key !== form.key))}
          />
        ))}
        <Button mr="auto" variant="default" leftSection={<IconPlus size={14} />} onClick={() => add(emptyPipeline())}>
          Add pipeline
        </Button>
      </PipelineGroup>
      {ofFile.length > 0 && (
        <PipelineGroup
          title="From callboard.yaml"
          about="Edit them in that file. They replace other pipelines of the same name."
        >
          <Given pipelines={ofFile} open={open} setOpen={setOpen} copy={(one) => add(copyOf(one, forms))} />
        </PipelineGroup>
      )}
      <PipelineGroup title="Built in">
        <Given pipelines={builtIn} open={open} setOpen={setOpen} copy={(one) => add(copyOf(one, forms))} />
      </PipelineGroup>
    </>
  );
}

const givenOf = (project: Project, origin: NamedPipeline['origin']): NamedPipeline[] =>
  givenPipelines(project).filter((pipeline) => pipeline.origin === origin);

function PipelineGroup({ title, about, children }: { title: string; about?: string; children: ReactNode }) {
  return (
    <Flex component="section" direction="column" gap="sm" aria-label={title}>
      <h4>{title}</h4>
      {about !== undefined && <Hint>{about}</Hint>}
      {children}
    </Flex>
  );
}

interface FoldProps {
  name: string;
  facts: string;
  isOpen: boolean;
  toggle: () => void;
  children: ReactNode;
}

/** A pipeline in a line, which opens. */
function Fold({ name, facts, isOpen, toggle, children }: FoldProps) {
  const Icon = isOpen ? IconChevronDown : IconChevronRight;
  return (
    <Panel p={0} gap={0}>
      <RowButton px={12} py={8} aria-expanded={isOpen} onClick={toggle}>
        <Icon size={16} aria-hidden />
        <strong>{name}</strong> <Hint span>{facts}</Hint>
      </RowButton>
      {isOpen && (
        <Stack gap="lg" p="4px 12px 12px">
          {children}
        </Stack>
      )}
    </Panel>
  );
}

interface OwnPipelineProps {
  form: PipelineForm;
  errors: PipelineErrors;
  isOpen: boolean;
  toggle: () => void;
  change: (part: Partial<PipelineForm>) => void;
  remove: () => void;
}

function OwnPipeline({ form, errors, isOpen, toggle, change, remove }: OwnPipelineProps) {
  const name = form.name.trim() === '' ? 'New pipeline' : form.name;
  return (
    <Fold name={name} facts={typedFacts(form)} isOpen={isOpen} toggle={toggle}>
      <Columns min={240}>
        <TextInput
          label="Name"
          aria-label={`Name of the pipeline ${name}`}
          value={form.name}
          error={errors.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
        />
        <NativeSelect
          label="At the end"
          aria-label={`At the end of the pipeline ${name}`}
          data={[{ value: '', label: 'As the project says' }, ...FINISH_OPTIONS]}
          value={form.finish}
          onChange={(event) => change({ finish: event.currentTarget.value })}
        />
      </Columns>
      <PhasesEditor
        phases={form.phases}
        change={(phases) => change({ phases })}
        error={errors.phases}
        about="Steps that follow one another. New stages take a copy; those that exist keep theirs."
      />
      <Button mr="auto" variant="subtle" color="gray" onClick={remove}>
        Remove this pipeline
      </Button>
    </Fold>
  );
}

interface GivenProps {
  pipelines: readonly NamedPipeline[];
  open: string | null;
  setOpen: (key: string | null) => void;
  copy: (pipeline: NamedPipeline) => void;
}

/** Pipelines that cannot be changed here. */
function Given({ pipelines, open, setOpen, copy }: GivenProps) {
  return pipelines.map((pipeline) => {
    const key = `${pipeline.origin} ${pipeline.name}`;
    const facts = [pipeline.about, pipelineFacts(pipeline)].filter((part) => part !== '').join(', ');
    return (
      <Fold
        key={key}
        name={pipeline.name}
        facts={facts}
        isOpen={open === key}
        toggle={() => setOpen(open === key ? null : key)}
      >
        <Flex component="ol" direction="column" gap="md" pl={20} style={{ listStyle: 'decimal' }}>
          {pipeline.phases.map(({ name, prompt, gate, conversation }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a phase is its place
            <li key={index}>
              <strong>{name}</strong>
              <p className="pre-wrap">{prompt}</p>
              <Hint>
                {conversation === 'fresh' && 'A new conversation. '}
                {gateText(gate, index === pipeline.phases.length - 1)}
                {typeof gate === 'object' && (
                  <>
                    {' '}
                    <code>{gate.check.command}</code>
                  </>
                )}
              </Hint>
            </li>
          ))}
        </Flex>
        {pipeline.phases.length > 0 && (
          <Button mr="auto" variant="default" onClick={() => copy(pipeline)}>
            Copy to custom pipelines
          </Button>
        )}
      </Fold>
    );
  });
}

/** A pipeline of a project, as typed. */
export interface PipelineForm {
  key: string;
  name: string;
  /** Empty: as the project says. */
  finish: string;
  phases: PhaseForm[];
}

export const emptyPipeline = (): PipelineForm => ({
  key: crypto.randomUUID(),
  name: '',
  finish: '',
  phases: [emptyPhase()],
});

/** The project's own pipelines, to be edited. */
export const pipelineFormsOf = ({ settings }: Pick<Project, 'settings'>): PipelineForm[] =>
  Object.entries(settings.pipelines).map(([name, { phases, finish }]) => ({
    key: name,
    name,
    finish: finish ?? '',
    phases: phasesOf(phases),
  }));

/** A copy of a pipeline under a name that none of the others has. */
export function copyOf({ name, phases, finish }: NamedPipeline, others: readonly PipelineForm[]): PipelineForm {
  const isFree = (wanted: string) => findPipeline(others, wanted) === null;
  const wanted = [`${name} (own)`, ...others.map((_, index) => `${name} (own ${index + 2})`)].find(isFree) ?? '';
  return { ...emptyPipeline(), name: wanted, finish: finish ?? '', phases: phasesOf(phases) };
}

/** The pipelines that the project has but cannot change here: those of `callboard.yaml`, then the built-in ones. */
export const givenPipelines = (project: Pick<Project, 'file' | 'settings'>): NamedPipeline[] =>
  pipelinesIn({ file: project.file, settings: { ...project.settings, pipelines: {} } });

/** "3 phases, 1 check, merges automatically". */
export function pipelineFacts({ phases, finish }: Pick<NamedPipeline, 'phases' | 'finish'>): string {
  const checks = phases.filter(({ gate }) => typeof gate === 'object').length;
  return [
    phases.length === 0 ? 'no phases' : count(phases.length, 'phase'),
    ...(checks === 0 ? [] : [count(checks, 'check')]),
    ...(finish === null ? [] : [FINISH_TEXTS[finish].replace(/^(Merges|Opens)/, (word) => word.toLowerCase())]),
  ].join(', ');
}

/** `pipelineFacts` of what is typed. */
const typedFacts = ({ phases, finish }: PipelineForm): string =>
  pipelineFacts({ phases: phases.map(phaseOf), finish: FinishWay.safeParse(finish).data ?? null });

/** What is wrong with one pipeline, in words. */
export interface PipelineErrors {
  name?: string;
  phases?: string;
}

/** Returns the pipelines to send, or what is wrong with them, by their keys. */
export function readPipelineForms(
  forms: readonly PipelineForm[],
): { pipelines: Record<string, ProjectPipeline> } | { errors: Record<string, PipelineErrors> } {
  const errors: Record<string, PipelineErrors> = {};
  const read = forms.flatMap((form, index): [string, ProjectPipeline][] => {
    const { key, phases } = form;
    const finish = FinishWay.safeParse(form.finish).data;
    const name = nameProblem(form.name, forms.slice(0, index));
    const parsed = ProjectPipeline.safeParse({ phases: phases.map(phaseOf), ...(finish !== undefined && { finish }) });
    const [issue] = parsed.error?.issues ?? [];
    const problem =
      issue && (phases.length === 0 ? NO_PHASES : phaseProblem(phases, issue.path.slice(1), issue.message));
    if (name !== null || problem !== undefined)
      errors[key] = { ...(name !== null && { name }), ...(problem !== undefined && { phases: problem }) };
    return parsed.success ? [[form.name.trim(), parsed.data]] : [];
  });
  return Object.keys(errors).length > 0 ? { errors } : { pipelines: Object.fromEntries(read) };
}

const NO_PHASES = 'It has no phases. Add one, or remove the pipeline.';

function nameProblem(name: string, before: readonly PipelineForm[]): string | null {
  if (name.trim() === '') return 'The name is empty.';
  if (name.trim().length > 100) return 'The name is longer than 100 characters.';
  return findPipeline(before, name) === null ? null : 'Another pipeline has this name.';
}
