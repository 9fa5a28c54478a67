import { type Capabilities, type PermissionMode, ProjectId, type StageId } from '@callboard/contract';
import {
  IconBolt,
  IconBox,
  IconCpu,
  IconGitBranch,
  IconHierarchy,
  IconPlayerPause,
  IconPlayerPlay,
  IconShieldHalf,
  IconTag,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { branchesQuery } from '../../../data/branches-query.ts';
import { boardQuery, useCapabilities } from '../../../data/queries.ts';
import { effortOptions, modelOptions } from '../../../lib/model-options.ts';
import { MODE_OPTIONS } from '../../../lib/permission-modes.ts';
import { PRIORITIES, priorityLabel } from '../../../lib/priority-words.ts';
import { PriorityMark } from '../../../ui/priority-mark.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { type StageFormControl, stageDefaultsOf } from '../model/stage-form.ts';
import { PanelChip, SelectChip, ToggleChip } from './chip.tsx';
import css from './chips.module.css';
import { MachineChip, MachineProblem } from './machine-chip.tsx';
import { FinishChip, PipelineChip } from './pipeline-chips.tsx';
import { BranchPanel, DependenciesPanel, GroupPanel } from './stage-panels.tsx';

interface StageChipsProps extends StageFormControl {
  stageId: StageId | null;
  /** Whether the stage was not started yet. */
  isOpen: boolean;
}

/** Everything about a stage that has a default. */
export function StageChips({ stageId, isOpen, ...part }: StageChipsProps) {
  const [panel, setPanel] = useState<'branch' | 'depends' | 'group' | null>(null);
  const panelId = useId();
  const { form, errors } = part;
  const chip = (name: 'branch' | 'depends' | 'group') => ({
    isOpen: panel === name,
    panelId,
    press: () => setPanel(panel === name ? null : name),
  });
  return (
    <>
      <div className={css.chips}>
        {isOpen && stageId === null && <ProjectChip {...part} />}
        {isOpen && (
          <PanelChip
            {...chip('branch')}
            label="Branch"
            icon={<IconGitBranch size={14} aria-hidden />}
            isSet={form.base !== '' || form.branch !== ''}
            isWrong={errors.base !== undefined || errors.branch !== undefined}
          >
            <BranchText {...part} />
          </PanelChip>
        )}
        {isOpen && <ClaudeChips {...part} />}
        <PriorityChip {...part} />
        {isOpen && (
          <PanelChip
            {...chip('depends')}
            label="Dependencies"
            icon={<IconHierarchy size={14} aria-hidden />}
            isSet={form.dependsOn.length > 0}
            isWrong={errors.dependsOn !== undefined}
          >
            {form.dependsOn.length === 0 ? 'Depends on nothing' : `Depends on ${form.dependsOn.join(', ')}`}
          </PanelChip>
        )}
        <PanelChip
          {...chip('group')}
          label="Group"
          icon={<IconTag size={14} aria-hidden />}
          isSet={form.group !== ''}
          isWrong={errors.group !== undefined}
        >
          {form.group === '' ? 'No group' : form.group}
        </PanelChip>
        {isOpen && <PipelineChip {...part} />}
        <FinishChip {...part} />
        {isOpen && <SandboxChip {...part} />}
        {isOpen && <MachineChip {...part} />}
        {isOpen && <StartChips {...part} />}
      </div>
      {isOpen && <MachineProblem {...part} />}
      {panel !== null && (
        <div className={css.panel} id={panelId}>
          {panel === 'branch' && <BranchPanel {...part} />}
          {panel === 'depends' && <DependenciesPanel {...part} stageId={stageId} />}
          {panel === 'group' && <GroupPanel {...part} />}
        </div>
      )}
    </>
  );
}

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
        label="Effort"
        icon={<IconBolt size={14} aria-hidden />}
        options={effortsOf(capabilities, form)}
        value={form.effort}
        isSet={form.effort !== ''}
        choose={(effort) => set({ effort })}
      />
      <SelectChip
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

function SandboxChip({ form, set }: StageFormControl) {
  const { data: ofProject = null } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === form.projectId)?.settings.sandbox,
  });
  const isOn = ofProject === true ? 'on' : 'off';
  const options = [
    { value: '', label: `Sandbox ${isOn}, as the project` },
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
      <input
        className={css.other}
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
  const options = PRIORITIES.map(({ value, word }) => ({ value: String(value), label: word }));
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
