import { Effort, NewStage, type PermissionMode, type Phase, StagePatch, type StageView } from '@callboard/contract';
import { z } from 'zod';
import { sandboxOf, sandboxValue } from '../../../lib/isolation-words.ts';
import { mayBeCommand } from '../../../lib/slash-commands.ts';
import { titleProposal } from './title-proposal.ts';

/** A phase of the pipeline, as typed. */
const PhaseForm = z.object({
  key: z.string(),
  name: z.string(),
  prompt: z.string(),
  /** Empty: the mode stays unchanged. */
  permissionMode: z.string(),
  gate: z.boolean(),
});
export type PhaseForm = z.infer<typeof PhaseForm>;

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
  autoStart: z.boolean(),
  held: z.boolean(),
  phases: z.array(PhaseForm),
});
export type StageForm = z.infer<typeof StageForm>;

export type FieldErrors = Partial<Record<keyof StageForm, string>>;

/** What each part of the stage form works on. */
export interface StageFormControl {
  form: StageForm;
  set: (change: Partial<StageForm>) => void;
  errors: FieldErrors;
}

/** The form for a new stage of a project. */
export const emptyStageForm = (projectId: string): StageForm => ({
  title: '',
  projectId,
  prompt: '',
  isCommand: false,
  dependsOn: [],
  priority: '2',
  permissionMode: 'default',
  model: '',
  effort: '',
  base: '',
  branch: '',
  group: '',
  sandbox: '',
  autoStart: false,
  held: false,
  phases: [],
});

/** The form for the next stage after one: its prompt and its own names are empty, everything else stays. */
export const nextStageForm = (form: StageForm): StageForm => ({
  ...form,
  ...{ title: '', prompt: '', isCommand: false, branch: '', dependsOn: [], phases: [] },
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
  autoStart: stage.autoStart,
  held: stage.held,
  phases: stage.pipeline.map((phase, index) => ({
    key: `stored-${index}`,
    name: phase.name,
    prompt: phase.prompt,
    permissionMode: phase.permissionMode ?? '',
    gate: phase.gate === 'human',
  })),
});

/** A phase as it is added to the form. */
export const emptyPhase = (): PhaseForm => ({
  key: crypto.randomUUID(),
  name: '',
  prompt: '',
  permissionMode: '',
  gate: true,
});

/** Returns the stage to send, or what is wrong with each field, in words. */
export function readStageForm(form: StageForm): { stage: NewStage } | { errors: FieldErrors } {
  const parsed = NewStage.safeParse({ ...fieldsOf(form), projectId: form.projectId });
  if (parsed.success) return { stage: parsed.data };
  const { title, ...errors } = errorsOf(form, parsed.error.issues);
  // Without a prompt there is no proposal for the title either; one message is enough.
  return { errors: errors.prompt !== undefined && form.title === '' ? errors : { ...errors, ...(title && { title }) } };
}

/** Returns the change to send, or what is wrong. A started stage keeps what it was started with. */
export function readStagePatch(form: StageForm, started: boolean): { patch: StagePatch } | { errors: FieldErrors } {
  const { title, priority, group, pipeline, ...rest } = fieldsOf(form);
  const parsed = StagePatch.safeParse({ title, priority, group, pipeline, ...(started ? {} : rest) });
  return parsed.success ? { patch: parsed.data } : { errors: errorsOf(form, parsed.error.issues) };
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
    autoStart,
    held,
    pipeline: phases.map(phaseOf),
  };
}

const orNull = (text: string): string | null => (text.trim() === '' ? null : text);

const phaseOf = ({ name, prompt, permissionMode, gate }: PhaseForm): Phase => ({
  name,
  prompt,
  gate: gate ? 'human' : 'none',
  ...(permissionMode === '' ? {} : { permissionMode: permissionMode as PermissionMode }),
});

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
    if (path[0] === 'pipeline') errors.phases ??= phaseError(form, path);
    else {
      const field = path[0] as keyof StageForm;
      errors[field] ??= `${NAMES[field] ?? 'This'} ${words(field, form, message)}.`;
    }
  }
  return errors;
}

function phaseError(form: StageForm, [, index, field]: PropertyKey[]): string {
  const phase = form.phases[Number(index)];
  if (phase === undefined) return 'There can be twenty phases at most.';
  const what = field === 'name' ? 'name' : 'prompt';
  const problem = phase[what].trim() === '' ? 'is empty' : 'is too long';
  return `The ${what} of phase ${Number(index) + 1} ${problem}.`;
}

function words(field: keyof StageForm, form: StageForm, message: string): string {
  const value = form[field];
  if (typeof value !== 'string') return message;
  if (value.trim() === '') return field === 'projectId' ? 'is missing; choose one or add one' : 'is empty';
  return message;
}
