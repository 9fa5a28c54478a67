import {
  Effort,
  FinishWay,
  NewPhases,
  NewStage,
  type Phase,
  type Project,
  StagePatch,
  type StageView,
  titleProposal,
} from '@callboard/contract';
import { z } from 'zod';
import { sandboxOf, sandboxValue } from '../../../lib/isolation-words.ts';
import { PhaseForm, phaseFormOf, phaseOf, phaseProblem } from '../../../lib/phase-form.ts';
import { mayBeCommand } from '../../../lib/slash-commands.ts';
import { inForce } from './workspace-form.ts';

/** The values of the stage form, as typed. */
export const StageForm = z.object({
  /** Empty: as the prompt proposes. */
  title: z.string(),
  projectId: z.string(),
  prompt: z.string(),
  /** Claude Code runs the prompt as a command. */
  isCommand: z.boolean().default(false),
  dependsOn: z.array(z.string()),
  priority: z.string(),
  permissionMode: z.string(),
  model: z.string(),
  /** Empty: the model's own default. */
  effort: z.string().default(''),
  /** Empty: where the main checkout is. */
  base: z.string().default(''),
  /** Empty: `callboard/<stage-id>`. */
  branch: z.string().default(''),
  group: z.string().default(''),
  /** `on`, `off`, or empty to follow the project. */
  sandbox: z.string().default(''),
  /** The name of the machine that it must run on; empty: as the project says. */
  machine: z.string().default(''),
  /** How it is finished; empty to follow the project. */
  finish: z.string().default(''),
  autoStart: z.boolean(),
  held: z.boolean(),
  phases: z.array(PhaseForm),
});
export type StageForm = z.infer<typeof StageForm>;

/** What the form sends: phases, never the name of a pipeline, so that a stage gets what was seen. */
const SentStage = NewStage.extend({ pipeline: NewPhases });
const SentPatch = StagePatch.extend({ pipeline: NewPhases });

export type FieldErrors = Partial<Record<keyof StageForm, string>>;

/** What each part of the stage form works on. */
export interface StageFormControl {
  form: StageForm;
  set: (change: Partial<StageForm>) => void;
  errors: FieldErrors;
}

/** What new stages of a project begin with. */
export function stageDefaultsOf(project: Pick<Project, 'settings' | 'file'> | undefined) {
  const { model, effort, mode } = project === undefined ? {} : inForce(project).defaults;
  return { model: model ?? '', effort: effort ?? '', permissionMode: mode ?? 'default' };
}

/** The form for a new stage of a project. */
export const emptyStageForm = (project: Project | undefined): StageForm => ({
  title: '',
  projectId: project?.id ?? '',
  prompt: '',
  isCommand: false,
  dependsOn: [],
  priority: '2',
  ...stageDefaultsOf(project),
  base: '',
  branch: '',
  group: '',
  sandbox: '',
  machine: '',
  finish: '',
  autoStart: false,
  held: false,
  phases: [],
});

/** The form for the next stage after one: its prompt and its own names are empty, everything else stays. */
export const nextStageForm = (form: StageForm): StageForm => ({
  ...form,
  title: '',
  prompt: '',
  isCommand: false,
  branch: '',
  dependsOn: [],
  finish: '',
  phases: [],
});

/** The form filled with an existing stage. */
export const stageFormOf = (stage: StageView): StageForm => ({
  title: stage.title,
  projectId: stage.projectId,
  prompt: stage.prompt,
  isCommand: stage.promptIsCommand,
  dependsOn: stage.dependsOn.map(String),
  priority: String(stage.priority),
  permissionMode: stage.permissionMode,
  model: stage.model ?? '',
  effort: stage.effort ?? '',
  base: stage.base ?? '',
  branch: stage.branch ?? '',
  group: stage.group ?? '',
  sandbox: sandboxValue(stage.sandbox),
  machine: stage.machine ?? '',
  finish: stage.finish ?? '',
  autoStart: stage.autoStart,
  held: stage.held,
  phases: phasesOf(stage.pipeline),
});

/** The phases of a pipeline, to be edited. */
export const phasesOf = (pipeline: readonly Phase[]): PhaseForm[] =>
  pipeline.map((phase, index) => phaseFormOf(phase, `stored-${index}`));

/** Returns the stage to send, or what is wrong with each field, in words. */
export function readStageForm(form: StageForm): { stage: NewStage } | { errors: FieldErrors } {
  const parsed = SentStage.safeParse({ ...fieldsOf(form), projectId: form.projectId });
  if (parsed.success) return { stage: parsed.data };
  const { title, ...errors } = errorsOf(form, parsed.error.issues);
  // Without a prompt there is no proposal for the title either; one message is enough.
  return { errors: errors.prompt !== undefined && form.title === '' ? errors : { ...errors, ...(title && { title }) } };
}

/** Returns the change to send, or what is wrong. A started stage keeps what it was started with. */
export function readStagePatch(form: StageForm, started: boolean): { patch: StagePatch } | { errors: FieldErrors } {
  const { title, priority, group, finish, pipeline, ...rest } = fieldsOf(form);
  const parsed = SentPatch.safeParse({ title, priority, group, finish, pipeline, ...(started ? {} : rest) });
  return parsed.success ? { patch: parsed.data } : { errors: errorsOf(form, parsed.error.issues) };
}

/** Returns those fields that differ from the stage as it was shown, with the texts that they replace. */
export function changedSince(shown: StageView, patch: StagePatch): StagePatch {
  const before = readStagePatch(stageFormOf(shown), false);
  const was: Record<string, unknown> = 'patch' in before ? before.patch : {};
  const isChanged = ([key, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(was[key]);
  const changed: StagePatch = Object.fromEntries(Object.entries(patch).filter(isChanged));
  return { ...changed, seen: { title: shown.title, prompt: shown.prompt } };
}

function fieldsOf({ title, prompt, dependsOn, priority, permissionMode, model, sandbox, ...form }: StageForm) {
  const { autoStart, held, phases } = form;
  const effort = Effort.safeParse(form.effort);
  return {
    title: title.trim() === '' ? titleProposal(prompt) : title,
    prompt,
    promptIsCommand: form.isCommand && mayBeCommand(prompt),
    dependsOn,
    priority: Number(priority),
    permissionMode,
    model: orNull(model),
    effort: effort.success ? effort.data : null,
    base: orNull(form.base),
    branch: orNull(form.branch),
    group: orNull(form.group),
    sandbox: sandboxOf(sandbox),
    machine: orNull(form.machine),
    finish: wayOf(form),
    autoStart,
    held,
    pipeline: phases.map(phaseOf),
  };
}

/** How the stage is finished; null: as the project says. */
export const wayOf = ({ finish }: Pick<StageForm, 'finish'>): FinishWay | null =>
  FinishWay.safeParse(finish).data ?? null;

const orNull = (text: string): string | null => (text.trim() === '' ? null : text);

const NAMES: Partial<Record<keyof StageForm, string>> = {
  title: 'The title',
  prompt: 'The prompt',
  projectId: 'The project',
  dependsOn: 'Depends on',
  base: 'The base',
  branch: 'The branch',
  group: 'The group',
};

interface Issue {
  path: PropertyKey[];
  message: string;
}

function errorsOf(form: StageForm, issues: readonly Issue[]): FieldErrors {
  const errors: FieldErrors = {};
  for (const { path, message } of issues) {
    if (path[0] === 'pipeline') errors.phases ??= phaseProblem(form.phases, path.slice(1), message);
    else {
      const field = path[0] as keyof StageForm;
      errors[field] ??= `${NAMES[field] ?? 'This'} ${text(field, form, message)}.`;
    }
  }
  return errors;
}

function text(field: keyof StageForm, form: StageForm, message: string): string {
  const value = form[field];
  if (typeof value !== 'string') return message;
  if (value.trim() === '') return field === 'projectId' ? 'is missing; choose one or add one' : 'is empty';
  return message;
}
