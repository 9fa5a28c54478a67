import { z } from 'zod';
import { Gate, Template, withoutBlankEnds } from './checks.ts';
import { ProjectId, StageId } from './ids.ts';
import { AttachedFile, Attachment } from './messages.ts';
import { FinishWay } from './pull-requests.ts';
import { Effort, PermissionMode } from './sessions.ts';

/** A step of a stage's pipeline. */
export const Phase = z.strictObject({
  name: z.string().trim().min(1, 'is empty').max(100, 'is longer than 100 characters'),
  prompt: z.string().overwrite(withoutBlankEnds).min(1, 'is empty').max(200_000, 'is longer than 200,000 characters'),
  permissionMode: PermissionMode.optional(),
  gate: Gate.default('none'),
  /**
   * `review`: Claude reviews the changes beside the conversation, with `prompt` as what to look for; its findings become comments.
   * With the gate `none`, the pipeline continues if it found nothing. Left out: Claude works on the prompt.
   */
  kind: z.enum(['work', 'review']).optional(),
  /** `fresh`: Claude knows nothing of the phases before it but what the prompt says. */
  conversation: z.enum(['same', 'fresh']).default('same'),
});
export type Phase = z.infer<typeof Phase>;

/** A phase as it is given: its prompt is a template (`{{stage.title}}`, for example). */
const NewPhase = Phase.extend({ prompt: Template });

/** Whether a phase is a review by Claude. */
export const isReview = (phase: Pick<Phase, 'kind'> | undefined): boolean => phase?.kind === 'review';

/** The phases of a stage or of a pipeline. */
export const NewPhases = z
  .array(NewPhase)
  .max(20, 'has more than 20 phases')
  .superRefine((phases, context) => {
    for (const [index, phase] of phases.entries()) {
      if (!isReview(phase)) continue;
      const refuse = (key: string, message: string) =>
        context.addIssue({ code: 'custom', path: [index, key], message });
      if (index === 0) refuse('kind', 'cannot be a review, as there is nothing to review yet');
      if (typeof phase.gate !== 'string') refuse('gate', 'of a review cannot be a check; give it to the phase before');
    }
  });

const PipelineName = z.string().trim().min(1, 'is empty').max(100, 'is longer than 100 characters');

/** Phases, or the name of a pipeline of the project, whatever its case. */
const ChosenPipeline = z.union([PipelineName, NewPhases], {
  error: ({ input, errors }) => {
    const [problem] = errors[typeof input === 'string' ? 0 : 1] ?? [];
    if (problem === undefined || (typeof input !== 'string' && !Array.isArray(input)))
      return 'is a list of phases, or the name of a pipeline';
    return `${z.core.toDotPath(problem.path)} ${problem.message}`.trim();
  },
});

/**
 * A field of a stage that people set. The schemas of a stage, the form with its draft, import and export, forks, the options of
 * `callboard start-stage`, the card, `callboard ls` and the details follow from it.
 */
export interface StageField {
  /** As somebody gives it. */
  readonly given: z.ZodType;
  /** As it is stored, with the value of a new stage and of one that was stored before there was this field. */
  readonly stored: z.ZodType;
  /** What can change it after the first start: the form and the API; the API and a control of its own; nothing, as only the start uses it. */
  readonly afterStart: 'form' | 'api' | 'nothing';
  /** What people call it. */
  readonly label?: string;
  /** The only values that it may have. */
  readonly choices?: readonly string[];
  /** The form has it as a string; empty is null. */
  readonly isText?: true;
  readonly maxLength?: number;
  /** The form has a chip with a line of text for it. */
  readonly chip?: {
    /** What the chip says without a value. */
    readonly none: string;
    /** What the empty line says. */
    readonly hint: string;
    /** Offers the values that other stages have. */
    readonly suggests?: true;
  };
  /** A card shows its value. */
  readonly onCard?: true;
  /** `callboard ls` shows its value. */
  readonly inList?: true;
  /** The details of a stage show its value, where it can be changed at any time. */
  readonly inDetails?: true;
  /** A fork begins with the value of its original. */
  readonly inFork?: true;
  /** It stays in the form for another new stage. */
  readonly staysInForm?: true;
  /** It is a key of a stage's Markdown file. */
  readonly file?: {
    readonly key: string;
    /** It lets Claude begin, act or finish unasked, or says where: a watched folder does not change it, only an import by a person. */
    readonly needsPerson?: true;
    /** An export brings it up to date. */
    readonly isExported?: true;
  };
  /** It is an option of `callboard start-stage`. */
  readonly flag?: {
    readonly name: string;
    readonly placeholder: string;
    readonly help: string;
  };
}

/** Text that may be left out. */
const optionalText = (maxLength: number) => ({
  given: z
    .string()
    .trim()
    .min(1, 'is empty')
    .max(maxLength, `is longer than ${maxLength} characters`)
    .nullable()
    .optional(),
  stored: z.string().nullable().default(null),
  isText: true as const,
  maxLength,
});

/** One of several values, or none. */
const optionalChoice = <T extends Readonly<Record<string, string>>>(values: z.ZodEnum<T>) => ({
  given: values.nullable().optional(),
  stored: values.nullable().default(null),
  choices: values.options,
  isText: true as const,
});

/** Also the order in which reference, form and files have them. */
export const stageFields = {
  title: {
    given: z.string().trim().min(1, 'is empty').max(300, 'is longer than 300 characters'),
    stored: z.string(),
    afterStart: 'form',
    label: 'Title',
  },
  prompt: {
    given: z
      .string()
      .overwrite(withoutBlankEnds)
      .min(1, 'is empty')
      .max(200_000, 'is longer than 200,000 characters; put the rest into a file of the repository'),
    stored: z.string(),
    afterStart: 'nothing',
    label: 'Prompt',
  },
  /** For a prompt that begins with `/`: Claude Code runs it as a command. */
  promptIsCommand: {
    given: z.boolean().optional(),
    stored: z.boolean().default(false),
    afterStart: 'nothing',
  },
  /** Images, PDF documents and texts for the first message: 20 files with 18 MB in all at most. */
  attachments: {
    given: z.array(Attachment).max(20).optional(),
    stored: z.array(AttachedFile).default([]),
    afterStart: 'nothing',
  },
  dependsOn: {
    given: z.array(StageId).max(100).optional(),
    stored: z.array(StageId).default([]),
    afterStart: 'api',
    file: { key: 'depends_on', isExported: true },
  },
  /** 0 is the most urgent. */
  priority: {
    given: z.int().min(0).max(9).optional(),
    stored: z.int().min(0).max(9).default(2),
    afterStart: 'form',
    inFork: true,
    staysInForm: true,
    file: { key: 'priority', isExported: true },
  },
  /** A free word to filter by. */
  group: {
    ...optionalText(60),
    afterStart: 'form',
    label: 'Group',
    chip: { none: 'No group', hint: 'Its lane on the board, such as an epic or a ticket', suggests: true },
    inDetails: true,
    inFork: true,
    staysInForm: true,
    file: { key: 'group', isExported: true },
  },
  permissionMode: {
    given: PermissionMode.optional(),
    stored: PermissionMode.default('default'),
    afterStart: 'nothing',
    label: 'Mode',
    choices: PermissionMode.options,
    inFork: true,
    staysInForm: true,
    file: { key: 'permission_mode', needsPerson: true },
    flag: {
      name: 'permission-mode',
      placeholder: 'MODE',
      help: 'The permission mode of the new stage: default, acceptEdits, plan, dontAsk, auto or bypassPermissions.',
    },
  },
  model: {
    ...optionalText(200),
    afterStart: 'api',
    label: 'Model',
    inFork: true,
    staysInForm: true,
    file: { key: 'model', isExported: true },
    flag: {
      name: 'model',
      placeholder: 'MODEL',
      help: 'The model of the new stage, as claude takes it; as the project says otherwise.',
    },
  },
  /** How much Claude thinks, from the first start on; null: the model's own default. */
  effort: {
    ...optionalChoice(Effort),
    afterStart: 'nothing',
    inFork: true,
    staysInForm: true,
    file: { key: 'effort', isExported: true },
  },
  /** The branch, tag or commit that its branch begins at; null: the current commit of the main checkout. */
  base: {
    ...optionalText(200),
    afterStart: 'nothing',
    label: 'Base',
    inFork: true,
    staysInForm: true,
    file: { key: 'base' },
  },
  /** The name for its branch, which does not exist yet; null: `callboard/<stage-id>`. `worktree.branch` is the branch that it has. */
  branch: {
    ...optionalText(200),
    afterStart: 'nothing',
    label: 'Branch',
    file: { key: 'branch' },
  },
  /** Whether Claude's commands run in the sandbox; null: as the project says. A change applies from the next start. */
  sandbox: {
    given: z.boolean().nullable().optional(),
    stored: z.boolean().nullable().default(null),
    afterStart: 'api',
    inFork: true,
    staysInForm: true,
  },
  autoStart: {
    given: z.boolean().optional(),
    stored: z.boolean().default(false),
    afterStart: 'api',
    staysInForm: true,
    file: { key: 'auto_start', needsPerson: true },
  },
  /** A person keeps it on hold: before its first start in the backlog, whatever its dependencies. */
  held: {
    given: z.boolean().optional(),
    stored: z.boolean().default(false),
    afterStart: 'api',
    staysInForm: true,
  },
  /** Phases, or the name of a pipeline. Empty for a stage with a single prompt. The first phase follows the stage's own prompt. */
  pipeline: {
    given: ChosenPipeline.optional(),
    stored: z.array(Phase).default([]),
    afterStart: 'form',
    label: 'Pipeline',
    file: { key: 'pipeline', needsPerson: true },
    flag: {
      name: 'pipeline',
      placeholder: 'NAME',
      help: 'The pipeline of the new stage, by its name in the project or its callboard.yaml.',
    },
  },
  /**
   * What Callboard does by itself after the last gate; null: as the project says. Left out with the name of a pipeline: as that says.
   */
  finish: {
    ...optionalChoice(FinishWay),
    afterStart: 'form',
    file: { key: 'finish', needsPerson: true },
  },
  /** The machine that it must run on, by name or id; null: as the project says. */
  machine: {
    ...optionalText(100),
    afterStart: 'api',
    staysInForm: true,
    file: { key: 'machine', needsPerson: true },
  },
  /** Whether it goes on by itself when a usage limit that stopped it resets; null: as the board says. */
  goesOnAtReset: {
    given: z.boolean().nullable().optional(),
    stored: z.boolean().nullable().default(null),
    afterStart: 'api',
  },
} as const satisfies Record<string, StageField>;

type Fields = typeof stageFields;
export type StageFieldKey = keyof Fields;

/** A definition that has a property. */
export type StageFieldHaving<P extends keyof StageField> = StageField & Required<Pick<StageField, P>>;

/** The fields whose definition has a property. */
export type StageFieldWith<P extends keyof StageField> = {
  [K in StageFieldKey]: Fields[K] extends Record<P, unknown> ? K : never;
}[StageFieldKey];

const entries: readonly (readonly [string, StageField])[] = Object.entries(stageFields);

/** Returns the fields whose definition has this property, in their order. */
export const stageFieldsWith = <P extends keyof StageField>(property: P): StageFieldWith<P>[] =>
  entries.flatMap(([key, field]) => (field[property] === undefined ? [] : [key as StageFieldWith<P>])); // as the type says

/** Returns the fields that can change there after the first start. */
export const stageFieldsAfterStart = (where: StageField['afterStart']): StageFieldKey[] =>
  entries.flatMap(([key, { afterStart }]) => (afterStart === where ? [key as StageFieldKey] : []));

/** Returns the values of the fields whose definition has this property. */
export const pickStageFields = <P extends keyof StageField, S extends Record<StageFieldWith<P>, unknown>>(
  of: S,
  property: P,
): Pick<S, StageFieldWith<P>> =>
  Object.fromEntries(stageFieldsWith(property).map((key) => [key, of[key]])) as Pick<S, StageFieldWith<P>>; // Object.fromEntries loses the names

/** Returns a value for each of the fields whose definition has this property. */
export const mapStageFields = <P extends keyof StageField, T>(
  property: P,
  value: (key: StageFieldWith<P>) => T,
): Record<StageFieldWith<P>, T> =>
  Object.fromEntries(stageFieldsWith(property).map((key) => [key, value(key)])) as Record<StageFieldWith<P>, T>; // Object.fromEntries loses the names

/** Returns what a stage shows there of its fields. */
export const shownFields = (
  stage: Readonly<Record<string, unknown>>,
  where: 'onCard' | 'inList',
  fields: Readonly<Record<string, StageField>> = stageFields,
): { label: string; text: string }[] =>
  Object.entries(fields).flatMap(([key, field]) => {
    const value = stage[key];
    return field[where] && value != null ? [{ label: field.label ?? key, text: String(value) }] : [];
  });

const schemasOf = <S extends 'given' | 'stored'>(which: S) =>
  Object.fromEntries(entries.map(([key, field]) => [key, field[which]])) as { [K in StageFieldKey]: Fields[K][S] }; // Object.fromEntries loses the names

export const storedFields = schemasOf('stored');

export const NewStage = z.strictObject({ projectId: ProjectId, ...schemasOf('given') });
export type NewStage = z.infer<typeof NewStage>;

export const CreateStage = NewStage.extend({
  /** Whoever sends one can send the same again if the reply was lost: that creates no second stage, and returns the first as it is now. */
  creationId: z.uuid().optional(),
});

export const StagePatch = NewStage.omit({ projectId: true })
  .partial()
  .extend({
    /** Ids of the stage's files that stay. With `files` or `attachments`, these are followed by those, and all others go. */
    files: z.array(z.uuid()).max(20).optional(),
    /** The texts that whoever changes them was shown: one that is another by now is not replaced, but refused with `stage_changed`. */
    seen: z.strictObject({ title: z.string().optional(), prompt: z.string().optional() }).optional(),
  });
export type StagePatch = z.infer<typeof StagePatch>;
