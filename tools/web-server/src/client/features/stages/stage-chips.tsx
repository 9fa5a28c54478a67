import {
  type Capabilities,
  type PermissionMode,
  type Project,
  ProjectId,
  type StageFieldHaving,
  type StageFieldWith,
  type StageId,
  stageFields,
  stageFieldsWith,
} from '@callboard/contract';
import { Autocomplete, Group, MultiSelect, Text, TextInput } from '@mantine/core';
import {
  IconBolt,
  IconBox,
  IconCheck,
  IconChevronDown,
  IconCpu,
  IconFlag,
  IconGitBranch,
  IconHierarchy,
  IconListNumbers,
  IconPlayerPause,
  IconPlayerPlay,
  IconServer,
  IconShieldHalf,
  IconTag,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useId, useState } from 'react';
import { useMachineChoice } from '../../data/machines.ts';
import { boardQuery, branchesQuery, useCapabilities, valuesOf } from '../../data/queries.ts';
import { phaseOf } from '../../lib/phases.ts';
import {
  choosePipeline,
  chosenPipeline,
  needsAgreement,
  OWN_PHASES,
  pipelinesIn,
  type StageFormControl,
  stageDefaultsOf,
  wayOf,
} from '../../lib/stage-form.ts';
import {
  effortOptions,
  FINISH_OPTIONS,
  FINISH_ORDER,
  FINISH_TEXTS,
  finishOfStage,
  MODE_OPTIONS,
  modelOptions,
  projectFinish,
} from '../../lib/stage-options.ts';
import { PRIORITIES, PriorityMark, ProjectMark, priorityLabel } from '../../ui/marks.tsx';
import { Columns, Hint, Indented } from '../../ui/primitives.tsx';
import css from './chips.module.css';

/** The fields of a stage that are a line of text and nothing else. */
const TEXT_CHIPS = stageFieldsWith('chip');

type Panel = 'branch' | 'depends' | StageFieldWith<'chip'>;

interface StageChipsProps extends StageFormControl {
  stageId: StageId | null;
  /** Whether the stage was not started yet. */
  isOpen: boolean;
}

/** Everything about a stage that has a default. */
export function StageChips({ stageId, isOpen, ...part }: StageChipsProps) {
  const [panel, setPanel] = useState<Panel | null>(null);
  const [isMoreShown, showMore] = useState(false);
  const panelId = useId();
  const { form, errors } = part;
  const chip = (name: Panel) => ({
    isOpen: panel === name,
    panelId,
    press: () => setPanel(panel === name ? null : name),
  });
  return (
    <ShowsAll value={isMoreShown || stageId !== null}>
      <Group gap={6}>
        {isOpen && stageId === null && <ProjectChip {...part} />}
        {isOpen && <ClaudeChips {...part} />}
        {isOpen && (
          <PanelChip
            {...chip('branch')}
            isMain
            label="Branch"
            icon={<IconGitBranch size={14} aria-hidden />}
            isSet={form.base !== '' || form.branch !== ''}
            isWrong={errors.base !== undefined || errors.branch !== undefined}
          >
            <BranchText {...part} />
          </PanelChip>
        )}
        {isOpen && <EffortChip {...part} />}
        <PriorityChip {...part} />
        {isOpen && (
          <PanelChip
            {...chip('depends')}
            label="Dependencies"
            icon={<IconHierarchy size={14} aria-hidden />}
            isSet={form.dependsOn.length > 0}
            isWrong={errors.dependsOn !== undefined}
          >
            {form.dependsOn.length === 0 ? 'No dependencies' : `Depends on ${form.dependsOn.join(', ')}`}
          </PanelChip>
        )}
        {TEXT_CHIPS.filter((key) => isOpen || stageFields[key].afterStart === 'form').map((key) => (
          <PanelChip
            key={key}
            {...chip(key)}
            label={stageFields[key].label}
            icon={<IconTag size={14} aria-hidden />}
            isSet={form[key] !== ''}
            isWrong={errors[key] !== undefined}
          >
            {form[key] === '' ? stageFields[key].chip.none : form[key]}
          </PanelChip>
        ))}
        {isOpen && <PipelineChip {...part} />}
        <FinishChip {...part} />
        {isOpen && <SandboxChip {...part} />}
        {isOpen && <MachineChip {...part} />}
        {isOpen && <StartChips {...part} />}
        {stageId === null && (
          <button type="button" className={css.chip} aria-expanded={isMoreShown} onClick={() => showMore(!isMoreShown)}>
            {isMoreShown ? 'Less' : 'More'}
          </button>
        )}
      </Group>
      {isOpen && <MachineProblem {...part} />}
      {panel !== null && (
        <Indented id={panelId}>
          <Columns min={220}>
            {panel === 'branch' && <BranchPanel {...part} />}
            {panel === 'depends' && <DependenciesPanel {...part} stageId={stageId} />}
            {panel !== 'branch' && panel !== 'depends' && <TextPanel {...part} field={panel} />}
          </Columns>
        </Indented>
      )}
    </ShowsAll>
  );
}

/** Whether chips with their defaults are shown too, and not only the main ones. */
const Shown = createContext(true);
const ShowsAll = Shown.Provider;

function BranchText({ form: { projectId, base, branch } }: StageFormControl) {
  const project = ProjectId.safeParse(projectId);
  const { data } = useQuery(branchesQuery(project.data));
  const from = base === '' ? (data?.current ?? '') : base;
  return [branch === '' ? 'New branch' : branch, ...(from === '' ? [] : [`from ${from}`])].join(' ');
}

function ProjectChip({ form, set, errors }: StageFormControl) {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const find = (wanted: string) => projects.find(({ id }) => id === wanted);
  const name = find(form.projectId)?.name ?? '';
  /** The defaults of the other project, unless somebody has chosen something. */
  const defaultsOf = (projectId: string) => {
    const { model, effort, permissionMode } = stageDefaultsOf(find(form.projectId));
    const isUntouched = form.model === model && form.effort === effort && form.permissionMode === permissionMode;
    return isUntouched ? stageDefaultsOf(find(projectId)) : {};
  };
  return (
    <SelectChip
      isMain
      label="Project"
      icon={<ProjectMark name={name} />}
      options={projects.map((project) => ({ value: project.id, label: project.name }))}
      value={form.projectId}
      isSet={errors.projectId === undefined}
      choose={(projectId) => set({ projectId, dependsOn: [], base: '', branch: '', ...defaultsOf(projectId) })}
    />
  );
}

/** Asks for the name of a model that is not in the list. */
const OTHER = ' other';

function ClaudeChips({ form, set }: StageFormControl) {
  const { data: projectId } = ProjectId.safeParse(form.projectId);
  const capabilities = useCapabilities(projectId === undefined ? {} : { projectId });
  return (
    <>
      <ModelChip capabilities={capabilities} model={form.model} choose={(model) => set({ model })} />
      <SelectChip
        isMain
        label="Permission mode"
        icon={<IconShieldHalf size={14} aria-hidden />}
        options={MODE_OPTIONS}
        value={form.permissionMode}
        isSet={form.permissionMode !== ('default' satisfies PermissionMode)}
        choose={(permissionMode) => set({ permissionMode })}
      />
    </>
  );
}

function EffortChip({ form, set }: StageFormControl) {
  const { data: projectId } = ProjectId.safeParse(form.projectId);
  return (
    <SelectChip
      label="Effort"
      icon={<IconBolt size={14} aria-hidden />}
      options={effortsOf(useCapabilities(projectId === undefined ? {} : { projectId }), form)}
      value={form.effort}
      isSet={form.effort !== ''}
      choose={(effort) => set({ effort })}
    />
  );
}

function SandboxChip({ form, set }: StageFormControl) {
  const { data: ofProject = null } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === form.projectId)?.settings.sandbox,
  });
  const isOn = ofProject === true ? 'on' : 'off';
  const options = [
    { value: '', label: `Sandbox: ${isOn} (project default)` },
    { value: 'on', label: 'Sandbox on' },
    { value: 'off', label: 'Sandbox off' },
  ];
  return (
    <SelectChip
      label="Sandbox"
      icon={<IconBox size={14} aria-hidden />}
      options={options}
      value={form.sandbox}
      isSet={form.sandbox !== ''}
      choose={(sandbox) => set({ sandbox })}
    />
  );
}

interface ModelChipProps {
  capabilities: Capabilities | null;
  model: string;
  choose: (model: string) => void;
}

/** The models that Claude Code reported, or the name of another one. */
function ModelChip({ capabilities, model, choose }: ModelChipProps) {
  const [isOther, setIsOther] = useState(false);
  const { options, value } = modelOptions(capabilities, model === '' ? null : model);
  if (isOther)
    return (
      <TextInput
        size="xs"
        w={180}
        aria-label="Model"
        placeholder="Name of the model"
        value={model}
        ref={(field) => field?.focus()}
        onChange={(event) => choose(event.currentTarget.value)}
        onBlur={() => setIsOther(false)}
      />
    );
  return (
    <SelectChip
      isMain
      label="Model"
      icon={<IconCpu size={14} aria-hidden />}
      options={[...options, { value: OTHER, label: 'Another model…' }]}
      value={value}
      isSet={model !== ''}
      choose={(chosen) => (chosen === OTHER ? setIsOther(true) : choose(chosen))}
    />
  );
}

function effortsOf(capabilities: Capabilities | null, { model, effort }: StageFormControl['form']) {
  const known = effortOptions(capabilities, model === '' ? null : model, effort === '' ? null : effort);
  return [{ value: '', label: 'Default effort' }, ...known.filter(({ value }) => value !== '')];
}

function PriorityChip({ form, set }: StageFormControl) {
  const priority = Number(form.priority);
  const options = PRIORITIES.map(({ value, word }) => ({ value: String(value), label: `${word} priority` }));
  const isAmong = options.some(({ value }) => value === form.priority);
  const own = { value: form.priority, label: `${priorityLabel(priority)} (${form.priority})` };
  return (
    <SelectChip
      label="Priority"
      icon={<PriorityMark priority={priority} />}
      options={isAmong ? options : [...options, own]}
      value={form.priority}
      isSet={form.priority !== '2'}
      choose={(value) => set({ priority: value })}
    />
  );
}

const StartChips = ({ form, set }: StageFormControl) => (
  <>
    <ToggleChip
      icon={<IconPlayerPlay size={14} aria-hidden />}
      label="Start automatically"
      description="When its dependencies are done and a slot is free"
      checked={form.autoStart}
      change={(autoStart) => set({ autoStart })}
    />
    <ToggleChip
      icon={<IconPlayerPause size={14} aria-hidden />}
      label="Keep in backlog"
      description="Won't start until you release it"
      checked={form.held}
      change={(held) => set({ held })}
    />
  </>
);

interface SelectChipProps {
  /** Its accessible name. */
  label: string;
  icon?: ReactNode;
  options: readonly { value: string; label: string; disabled?: boolean }[];
  value: string;
  /** Whether the value differs from the default. */
  isSet: boolean;
  isWrong?: boolean;
  /** Shown also with its default. */
  isMain?: boolean;
  choose: (value: string) => void;
}

/** A choice as a chip: it shows the chosen one, and opens the browser's own list. */
function SelectChip({ label, icon, options, value, isSet, isWrong = false, isMain = false, choose }: SelectChipProps) {
  if (!use(Shown) && !isMain && !isSet && !isWrong) return null;
  const shown = options.find((option) => option.value === value)?.label ?? value;
  return (
    <span className={css.chip} data-set={isSet} data-wrong={isWrong} title={`${label}: ${shown}`}>
      {icon}
      <span aria-hidden>{shown}</span>
      <IconChevronDown size={12} aria-hidden />
      <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled}>
            {option.label}
          </option>
        ))}
      </select>
    </span>
  );
}

interface ToggleChipProps {
  icon: ReactNode;
  label: string;
  description: string;
  checked: boolean;
  change: (checked: boolean) => void;
}

/** A yes or no as a chip. */
function ToggleChip({ icon, label, description, checked, change }: ToggleChipProps) {
  if (!use(Shown) && !checked) return null;
  return (
    <span className={css.chip} data-set={checked} title={description}>
      {checked ? <IconCheck size={14} aria-hidden /> : icon}
      <span aria-hidden>{label}</span>
      <input
        type="checkbox"
        aria-label={label}
        aria-description={description}
        checked={checked}
        onChange={(event) => change(event.currentTarget.checked)}
      />
    </span>
  );
}

interface PanelChipProps {
  icon: ReactNode;
  /** What it is about, for a screen reader, ahead of the text. */
  label: string;
  isSet: boolean;
  isWrong?: boolean;
  /** Shown also with its default. */
  isMain?: boolean;
  isOpen: boolean;
  panelId: string;
  press: () => void;
  children: ReactNode;
}

/** A chip that shows or hides fields below the chips. */
function PanelChip({
  icon,
  label,
  isSet,
  isWrong = false,
  isMain = false,
  isOpen,
  panelId,
  press,
  children,
}: PanelChipProps) {
  if (!use(Shown) && !isMain && !isSet && !isWrong && !isOpen) return null;
  return (
    <button
      type="button"
      className={css.chip}
      data-set={isSet}
      data-wrong={isWrong}
      aria-expanded={isOpen}
      aria-controls={isOpen ? panelId : undefined}
      onClick={press}
    >
      {icon}
      <span className="visually-hidden">{label}: </span>
      <span>{children}</span>
      <IconChevronDown size={12} aria-hidden />
    </button>
  );
}

/** Where a stage would run by its own choice, or else by that of its project. */
function useMachineOfForm({ projectId, machine }: StageFormControl['form']) {
  const { data: ofProject = null } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === projectId)?.settings.machine,
  });
  const inherited = useMachineChoice(projectId, ofProject ?? '');
  const own = useMachineChoice(projectId, machine);
  return { ofProject, inherited, own, problem: (machine === '' ? inherited : own)?.problem ?? null };
}

/** Where it runs, if there is a choice. */
function MachineChip({ form, set }: StageFormControl) {
  const { ofProject, inherited, own, problem } = useMachineOfForm(form);
  const choice = own ?? inherited;
  if (choice === null) return null;
  const nameOfProject = inherited?.options.find(({ value }) => value === inherited.value)?.label ?? ofProject;
  return (
    <SelectChip
      label="Machine"
      icon={<IconServer size={14} aria-hidden />}
      options={[
        { value: '', label: ofProject === null ? 'Any machine' : `${nameOfProject} (project default)` },
        ...choice.options,
      ]}
      value={own?.value ?? ''}
      isSet={form.machine !== ''}
      isWrong={problem !== null}
      choose={(machine) => set({ machine })}
    />
  );
}

/** Says why the stage would not start on the machine of its choice or its project's. */
function MachineProblem({ form }: Pick<StageFormControl, 'form'>) {
  const { problem } = useMachineOfForm(form);
  return problem === null ? null : (
    <Text size="row" data-tone="fail" role="status">
      {problem}
    </Text>
  );
}

/** The project that the form is for. */
function useFormProject({ projectId }: StageFormControl['form']): Project | undefined {
  const { data } = useQuery({ ...boardQuery, select: (view) => view.projects.find(({ id }) => id === projectId) });
  return data;
}

/** The pipelines to choose from; own phases are edited below the chips. */
function PipelineChip({ form, set }: StageFormControl) {
  const project = useFormProject(form);
  const pipelines = pipelinesIn(project);
  return (
    <SelectChip
      label="Pipeline"
      icon={<IconListNumbers size={14} aria-hidden />}
      options={[
        ...pipelines.map((pipeline) => {
          const disabled = needsAgreement(pipeline, project);
          const { name } = pipeline;
          return { value: name, label: disabled ? `${name} (agree to callboard.yaml first)` : name, disabled };
        }),
        { value: OWN_PHASES, label: 'Custom phases' },
      ]}
      value={chosenPipeline(pipelines, form)?.name ?? OWN_PHASES}
      isSet={form.phases.length > 0}
      choose={(name) => set(choosePipeline(pipelines, form, name))}
    />
  );
}

/** What happens after the last phase. */
function FinishChip({ form, set }: StageFormControl) {
  const project = useFormProject(form);
  const { way, origin } = project === undefined ? { way: 'none' as const, origin: '' } : projectFinish(project);
  return (
    <SelectChip
      label="At the end"
      icon={<IconFlag size={14} aria-hidden />}
      options={[{ value: '', label: `${FINISH_TEXTS[way]} (${origin})` }, ...FINISH_OPTIONS]}
      value={form.finish}
      isSet={form.finish !== ''}
      choose={(finish) => set({ finish })}
    />
  );
}

/** Says what happens at the end, where that is not what a person expects, and who decides it. */
export function FinishNote({ form }: Pick<StageFormControl, 'form'>) {
  const project = useFormProject(form);
  const ofProject = project === undefined ? 'none' : projectFinish(project).way;
  if (form.finish === '' && ofProject === 'none') return null;
  const chosen = chosenPipeline(pipelinesIn(project), form);
  const chosenBy =
    chosen !== null && form.finish === chosen.finish ? `as the pipeline “${chosen.name}” says` : 'set for this stage';
  const text = finishOfStage({ finish: wayOf(form), pipeline: form.phases.map(phaseOf) }, project, chosenBy);
  return (
    <Hint>
      At the end: {text}. {FINISH_ORDER}
    </Hint>
  );
}

/** Where the stage's branch begins, and what it is called. */
function BranchPanel({ form, set, errors }: StageFormControl) {
  const project = ProjectId.safeParse(form.projectId);
  const { data } = useQuery({ ...branchesQuery(project.data), enabled: project.success });
  const current = data?.current ?? null;
  return (
    <>
      <Autocomplete
        label="Base"
        placeholder={current ?? 'The current commit'}
        data={data?.branches ?? []}
        limit={50}
        value={form.base}
        error={errors.base}
        onChange={(base) => set({ base })}
        comboboxProps={{ withinPortal: false }}
      />
      <TextInput
        label="Branch name"
        placeholder="callboard/<stage-id>"
        value={form.branch}
        error={errors.branch}
        onChange={(event) => set({ branch: event.currentTarget.value })}
        spellCheck={false}
        autoCapitalize="off"
      />
      <Hint size="xs" style={{ gridColumn: '1 / -1' }}>
        A branch, tag or commit to begin at, and the name of the new branch. It is merged into{' '}
        {current ?? 'the branch of the main checkout'}.
      </Hint>
    </>
  );
}

/** The stages that have to be done first. */
function DependenciesPanel({ form, set, errors, stageId }: StageFormControl & { stageId: StageId | null }) {
  const { data: stages = [] } = useQuery({ ...boardQuery, select: (view) => view.stages });
  const data = stages
    .filter((stage) => stage.projectId === form.projectId && stage.id !== stageId)
    .map((stage) => ({ value: String(stage.id), label: `${stage.title} (${stage.id})` }));
  return (
    <MultiSelect
      label="Depends on"
      placeholder={form.dependsOn.length === 0 ? 'Nothing' : ''}
      data={data}
      value={form.dependsOn}
      error={errors.dependsOn}
      searchable
      nothingFoundMessage="No results"
      onChange={(dependsOn) => set({ dependsOn })}
      comboboxProps={{ withinPortal: false }}
    />
  );
}

/** A line of text. */
function TextPanel({ form, set, errors, field }: StageFormControl & { field: StageFieldWith<'chip'> }) {
  const { label, chip }: StageFieldHaving<'label' | 'chip'> = stageFields[field];
  const { data: known = [] } = useQuery({ ...boardQuery, select: valuesOf(field) });
  return (
    <Autocomplete
      label={label}
      placeholder={chip.hint}
      data={chip.suggests ? known : []}
      value={form[field]}
      error={errors[field]}
      onChange={(text) => set({ [field]: text })}
      comboboxProps={{ withinPortal: false }}
    />
  );
}
