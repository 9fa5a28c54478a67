import {
  commandsOf,
  type DevServerSetting,
  Effort,
  FinishWay,
  mapStageFields,
  mergedSettings,
  type NamedPipeline,
  NewPhases,
  NewStage,
  PermissionMode,
  type Phase,
  type Project,
  pickStageFields,
  pipelinesOf,
  StagePatch,
  type StageView,
  stageFields,
  stageFieldsAfterStart,
  titleProposal,
  WORKSPACE_KEYS,
  type WorkspaceKey,
  WorkspacePatch,
  type WorkspaceSettings,
} from '@callboard/contract';
import { z } from 'zod';
import { mayBeCommand } from './completion.ts';
import { sandboxOf, sandboxValue } from './isolation-text.ts';
import { emptyPhase, PhaseForm, phaseFormOf, phaseOf, phaseProblem } from './phases.ts';
import { isFileAgreed } from './stage-options.ts';

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
  ...mapStageFields('isText', () => z.string().default('')),
  /** `on`, `off`, or empty to follow the project. */
  sandbox: z.string().default(''),
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
  ...mapStageFields('isText', () => ''),
  ...stageDefaultsOf(project),
  sandbox: '',
  autoStart: false,
  held: false,
  phases: [],
});

/** The form for the next stage after one. */
export const nextStageForm = (form: StageForm): StageForm => ({
  ...emptyStageForm(undefined),
  ...pickStageFields(form, 'staysInForm'),
  projectId: form.projectId,
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
  ...mapStageFields('isText', (key) => stage[key] ?? ''),
  sandbox: sandboxValue(stage.sandbox),
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
  const fields = fieldsOf(form);
  const changing: readonly string[] = stageFieldsAfterStart('form');
  const sent = Object.entries(fields).filter(([key]) => !started || changing.includes(key));
  const parsed = SentPatch.safeParse(Object.fromEntries(sent));
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

function fieldsOf(form: StageForm) {
  const { title, prompt, dependsOn, priority, permissionMode, sandbox, autoStart, held, phases } = form;
  return {
    ...mapStageFields('isText', (key) => orNull(form[key])),
    title: title.trim() === '' ? titleProposal(prompt) : title,
    prompt,
    promptIsCommand: form.isCommand && mayBeCommand(prompt),
    dependsOn,
    priority: Number(priority),
    permissionMode,
    effort: Effort.safeParse(form.effort).data ?? null,
    sandbox: sandboxOf(sandbox),
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

const NAMES: Readonly<Record<string, string>> = {
  ...mapStageFields('label', (key) => `The ${stageFields[key].label.toLowerCase()}`),
  projectId: 'The project',
  dependsOn: 'Depends on',
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

/** What a project says about its worktrees, as typed. */
export interface WorkspaceForm {
  setup: string;
  /** In minutes; empty for the usual limit. */
  setupMinutes: string;
  cleanup: string;
  base: string;
  fetch: boolean;
  /** One server a line: `web: npm run dev`, or `web 8080: npm run dev`. */
  servers: string;
  /** One folder a line. */
  caches: string;
  model: string;
  effort: string;
  mode: string;
}

/** The keys of the form that `callboard.yaml` decides; the form shows what it says and cannot change it. */
export const fromFile = ({ file }: Pick<Project, 'file'>): ReadonlySet<WorkspaceKey> =>
  new Set(WORKSPACE_KEYS.filter((key) => file?.settings[key] !== undefined));

/** The settings in force. */
export const inForce = ({ settings, file }: Pick<Project, 'settings' | 'file'>): WorkspaceSettings =>
  mergedSettings(settings, file?.settings ?? {});

export function workspaceFormOf(project: Pick<Project, 'settings' | 'file'>): WorkspaceForm {
  const { setup, cleanup, base, fetch, devServers, caches, defaults } = inForce(project);
  return {
    setup: setup?.command ?? '',
    setupMinutes: setup?.timeLimit === undefined ? '' : String(setup.timeLimit / 60),
    cleanup: cleanup?.command ?? '',
    base: base ?? '',
    fetch,
    servers: Object.entries(devServers).map(serverLine).join('\n'),
    caches: caches.join('\n'),
    model: defaults.model ?? '',
    effort: defaults.effort ?? '',
    mode: defaults.mode ?? '',
  };
}

const serverLine = ([name, { command, port }]: [string, DevServerSetting]): string =>
  `${name}${port == null ? '' : ` ${port}`}: ${command}`;

const LINE = /^\s*([^\s:]+)(?:\s+(\d{1,5}))?\s*:\s*(\S.*)$/;

const lines = (text: string): string[] => text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));

/** What is wrong with each field, in words. */
export type WorkspaceErrors = Partial<Record<'setupMinutes' | 'servers' | 'caches' | 'base', string>>;

/** Returns the settings to send: those that the file decides stay as a person had them. */
export function readWorkspaceForm(
  form: WorkspaceForm,
  decided: ReadonlySet<WorkspaceKey>,
): { settings: WorkspacePatch } | { errors: WorkspaceErrors } {
  const wrong = lines(form.servers).find((line) => !LINE.test(line));
  if (wrong !== undefined)
    return { errors: { servers: `“${wrong}” is not a name, a colon and a command, such as web: npm run dev.` } };
  const minutes = Number(form.setupMinutes);
  if (form.setupMinutes.trim() !== '' && !(minutes > 0 && minutes <= 1_440))
    return { errors: { setupMinutes: 'Between 1 and 1440 minutes.' } };
  const timeLimit = form.setupMinutes.trim() === '' ? {} : { timeLimit: Math.max(1, Math.round(minutes * 60)) };
  const said = {
    setup: form.setup.trim() === '' ? null : { command: form.setup.trim(), ...timeLimit },
    cleanup: form.cleanup.trim() === '' ? null : { command: form.cleanup.trim() },
    base: form.base.trim() === '' ? null : form.base.trim(),
    fetch: form.fetch,
    devServers: Object.fromEntries(lines(form.servers).map(serverOf)),
    caches: lines(form.caches),
    defaults: {
      model: form.model.trim() === '' ? null : form.model.trim(),
      effort: Effort.safeParse(form.effort).data ?? null,
      mode: PermissionMode.safeParse(form.mode).data ?? null,
    },
  };
  // The mode is a person's, whatever the file says about the rest.
  const own = Object.entries(said).filter(([key]) => key === 'defaults' || !decided.has(key as WorkspaceKey));
  const parsed = WorkspacePatch.safeParse(Object.fromEntries(own));
  if (parsed.success) return { settings: parsed.data };
  const [issue] = parsed.error.issues;
  const key = issue?.path[0];
  const inner = issue?.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue?.message;
  const field = key === 'devServers' ? 'servers' : key === 'caches' ? 'caches' : 'base';
  return { errors: { [field]: `${String(issue?.path.at(-1) ?? '')} ${inner ?? ''}`.trim() } };
}

function serverOf(line: string): [string, DevServerSetting] {
  const [, name = '', port, command = ''] = LINE.exec(line) ?? [];
  return [name, { command, ...(port !== undefined && { port: Number(port) }) }];
}

/** The value of the chip for phases that are no pipeline's: no name of a pipeline begins with a space. */
export const OWN_PHASES = ' own';

/** The pipelines of a project: those of its file, of its settings, and the built-in ones. */
export const pipelinesIn = (project: Pick<Project, 'file' | 'settings'> | undefined): NamedPipeline[] =>
  pipelinesOf({ file: project?.file?.settings.pipelines ?? {}, own: project?.settings.pipelines ?? {} });

/** Returns the pipeline that these phases are, of several the one that finishes likewise; null if somebody has changed them. */
export function chosenPipeline(
  pipelines: readonly NamedPipeline[],
  { phases, finish }: Pick<StageForm, 'phases' | 'finish'>,
): NamedPipeline | null {
  const sent = JSON.stringify(phases.map(phaseOf));
  const same = pipelines.filter((one) => JSON.stringify(phasesOf(one.phases).map(phaseOf)) === sent);
  return same.find((one) => (one.finish ?? '') === finish) ?? same[0] ?? null;
}

/** Whether a pipeline of `callboard.yaml` would run or finish something that nobody has agreed to. */
export const needsAgreement = (pipeline: NamedPipeline, project: Pick<Project, 'trust'> | undefined): boolean =>
  pipeline.origin === 'file' &&
  (commandsOf(pipeline).length > 0 || (pipeline.finish ?? 'none') !== 'none') &&
  (project === undefined || !isFileAgreed(project));

/** Returns what choosing a pipeline changes: the phases, and how the stage is finished unless a person has chosen that. */
export function choosePipeline(
  pipelines: readonly NamedPipeline[],
  form: Pick<StageForm, 'phases' | 'finish'>,
  name: string,
): Pick<StageForm, 'phases' | 'finish'> {
  const before = chosenPipeline(pipelines, form);
  const wanted = pipelines.find((one) => one.name === name);
  const isUntouched = form.finish === (before?.finish ?? '');
  return {
    phases: wanted === undefined ? [emptyPhase()] : phasesOf(wanted.phases),
    finish: isUntouched ? (wanted?.finish ?? '') : form.finish,
  };
}
