import { z } from 'zod';
import { REQUEST_KINDS } from './generated/request-kinds.ts';
import { ProjectId, RequestId, StageId } from './ids.ts';
import { RuleScope } from './rules.ts';
import { type TextKind, visibleText } from './text.ts';

type Asked = readonly [text: string, kind: TextKind];

/** Fields with prose, and fields with file contents. In all other fields every character counts. */
const PROSE = ['description', 'message', 'plan', 'question', 'header', 'label', 'title', 'prompt', 'preview'];
const CONTENTS = ['content', 'new_string', 'old_string', 'new_source'];

/** Returns what the texts of a tool's input are. That of an MCP tool may be prose or commands. */
export const kindOfInput = (toolName: string): TextKind => (/^[A-Z]\w*$/.test(toolName) ? 'command' : 'code');

/** Returns all texts in a request that a person decides on, including field names. */
export function askedTexts({
  toolName,
  input,
  description,
  reason,
  blockedPath,
  agent,
  parentAgent,
  suggestions,
  commands,
  leavesSandbox,
  hosts = [],
}: PendingRequest): Asked[] {
  const said = [description, reason, agent, parentAgent, leavesSandbox?.reason ?? null].flatMap((text): Asked[] =>
    text === null ? [] : [[text, 'prose']],
  );
  const exact = [toolName, blockedPath ?? '', ...hosts].map((text): Asked => [text, 'command']);
  const running = commands.map(({ text, isBackground }): Asked => [text, isBackground ? 'prose' : 'command']);
  return [...exact, ...said, ...running, ...textsIn(input, kindOfInput(toolName)), ...textsIn(suggestions, 'command')];
}

function textsIn(value: unknown, kind: TextKind): Asked[] {
  if (typeof value === 'string') return [[value, kind]];
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, kind));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => [
    [name, kind] as const,
    ...textsIn(item, kindOfField(name, kind)),
  ]);
}

/** Returns what the text of a field is, in an input of this kind. */
export function kindOfField(name: string, kind: TextKind): TextKind {
  if (PROSE.includes(name)) return 'prose';
  return CONTENTS.includes(name) ? 'code' : kind;
}

/**
 * What may be at risk in a request, the gravest first: lists of stakes are in this order. `unknown` is code whose effects nobody can
 * tell; `writes` are changes within the worktree.
 */
export const RiskCode = z.enum([
  'schedules',
  'credentials',
  'privileges',
  'git-remote',
  'git-history',
  'deletes',
  'outside',
  'installs',
  'network',
  'processes',
  'unknown',
  'writes',
]);
export type RiskCode = z.infer<typeof RiskCode>;

/** One thing that is known to be at risk in a request. */
export const Risk = z.object({
  code: RiskCode,
  /** A sentence: "Deletes dist." */
  text: z.string(),
  /** The part of the command that it is about, to be shown where there is room for one line; null if it is the whole call. */
  command: z.string().nullable().default(null),
});
export type Risk = z.infer<typeof Risk>;

/** Each stake in a word or two, for places without room for a sentence. */
export const RISK_TEXTS: Readonly<Record<RiskCode, string>> = {
  schedules: 'schedules',
  credentials: 'credentials',
  privileges: 'administrator',
  'git-remote': 'git remote',
  'git-history': 'git history',
  deletes: 'deletes',
  outside: 'outside',
  installs: 'installs',
  network: 'network',
  processes: 'processes',
  unknown: 'runs code',
  writes: 'writes',
};

/**
 * What made Claude Code deny a call without asking. `mode`: its permission mode, including the safety check of auto mode.
 * `rule`: a permission rule. `hook`: a hook in a settings file. `unknown`: the release does not say.
 */
export const DenialSource = z.enum(['mode', 'rule', 'hook', 'unknown']);
export type DenialSource = z.infer<typeof DenialSource>;

/** A denial by Claude Code itself. */
export const Denial = z.object({
  source: DenialSource,
  /** The mode, the rule, or the event of the hook, if known. */
  detail: z.string().nullable(),
  /** The settings that the rule stands in, as Claude Code calls them: `policySettings`; left out if unknown. */
  settings: z.string().optional(),
  /** With `hook`: it did not deny the call, it deferred it, which ended the turn. */
  isDeferred: z.literal(true).optional(),
});
export type Denial = z.infer<typeof Denial>;

/** A denial by Claude Code of the last call of a turn, which nobody has acknowledged yet. */
export const OpenDenial = Denial.extend({
  /** The denied call in one line: "Bash npm install". */
  asked: z.string(),
  at: z.iso.datetime(),
  /** Its entry in the decision log; null if it was denied under an earlier Callboard. */
  requestId: RequestId.nullable().default(null),
});
export type OpenDenial = z.infer<typeof OpenDenial>;

/** The name of the decider if nobody was asked. */
export const CLAUDE_CODE = 'Claude Code';

/** One question of an AskUserQuestion call. Without options it is answered in free text. */
export const Question = z.looseObject({
  question: z.string(),
  header: z.string().optional(),
  multiSelect: z.boolean().optional(),
  options: z
    .array(z.looseObject({ label: z.string(), description: z.string().optional(), preview: z.string().optional() }))
    .optional(),
});
export type Question = z.infer<typeof Question>;

const QuestionInput = z.looseObject({ questions: z.array(Question).min(1) });

/** The questions of a request's input; empty when the input has none that can be read. */
export function questionsOf(input: unknown): Question[] {
  const parsed = QuestionInput.safeParse(input);
  return parsed.success ? parsed.data.questions : [];
}

/** zod leaves this key out of every record, but a question can have that text. */
const LEFT_OUT = '__proto__';
/** Replaces it while the record is read: no question contains a NUL. */
const STAND_IN = '\0__proto__';

/** Renames one key of an object; returns any other value unchanged. */
function renamed<T>(value: T, from: string, to: string): T {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, from)) return value;
  const entries = Object.entries(value).map(([key, entry]) => [key === from ? to : key, entry]);
  // `fromEntries` makes an own key of any name.
  return Object.fromEntries(entries);
}

/** Answers by the text of their question; the labels of a multiple choice joined by ", ". */
export const Answers = z.preprocess(
  (value) => renamed(value, LEFT_OUT, STAND_IN),
  z
    .record(z.string(), z.string().max(20_000, 'is longer than 20,000 characters'))
    .overwrite((answers) => renamed(answers, STAND_IN, LEFT_OUT)),
);

/** Returns what is wrong with the answers, in words; null if nothing is. */
export function answersProblem(
  questions: readonly Question[],
  answers: Readonly<Record<string, string>>,
): string | null {
  const asked = new Set(questions.map((q) => q.question));
  const unknown = Object.keys(answers).find((key) => !asked.has(key));
  if (unknown !== undefined) return `"${unknown}" is not one of the questions; the keys must be the questions' texts`;
  const missing = [...asked].find((text) => !Object.hasOwn(answers, text) || answers[text]?.trim() === '');
  if (missing !== undefined) return `"${missing}" has no answer; every question needs one`;
  return null;
}

/** Joins the chosen labels into the string that the CLI splits into labels again. */
export const joinLabels = (labels: readonly string[]): string => labels.join(', ');

/** The kinds of request that a person answers. `docs/interactive-tools.md` says how to add one. */
export const RequestKind = z.enum(REQUEST_KINDS);
export type RequestKind = z.infer<typeof RequestKind>;

/** The input of a tool call, as the CLI gave it. Its shape is the tool's own. */
export const ToolInput = z.record(z.string(), z.unknown());
export type ToolInput = z.infer<typeof ToolInput>;

/** A permission change that the CLI suggests or a person grants. It is passed on unchanged, since its shapes are the CLI's. */
export const PermissionUpdate = z.looseObject({ type: z.string() });
export type PermissionUpdate = z.infer<typeof PermissionUpdate>;

/** A command that asks to leave the sandbox. */
export const LeavesSandbox = z.object({
  /** Why, in Claude's or the CLI's words; null where neither says. */
  reason: z.string().nullable(),
});
export type LeavesSandbox = z.infer<typeof LeavesSandbox>;

/** A command that runs while a `network` request is made: one of them wants the host. */
export const AskingCommand = z.object({
  /** The call that runs it; of a command in the background, its task. */
  id: z.string(),
  isBackground: z.boolean(),
  /** The command itself; of one in the background, what Claude Code calls it. */
  text: z.string(),
});
export type AskingCommand = z.infer<typeof AskingCommand>;

/**
 * An answer that the server keeps back for a moment, so that its person can take it back. The request is still open; until the
 * answer is sent or taken back, every other answer is a conflict.
 */
export const DelayedAnswer = z.object({
  by: z.string(),
  outcome: z.enum(['allowed', 'denied', 'answered']),
  /** When it is sent. */
  until: z.iso.datetime(),
});
export type DelayedAnswer = z.infer<typeof DelayedAnswer>;

/** A hook of a settings file gave a call another input than the one that Claude wrote. */
export const InputChange = z.object({
  /** The hook's command, or what else is known of it; null if Claude Code does not tell. */
  hook: z.string().nullable(),
  /** What Claude wrote. */
  from: ToolInput,
});
export type InputChange = z.infer<typeof InputChange>;

/**
 * A request that waits for a person. A `network` request comes from a command in the sandbox that wants to reach a host: `input` has the
 * `host`, and `toolUseId` is empty because Claude Code does not say which call it belongs to. An `elicitation` comes from an MCP server, not
 * from a tool call: `displayName` is the server, `input` has its `message` and the form's JSON Schema `requested_schema`, and `toolUseId` is empty.
 */
export const PendingRequest = z.object({
  stageId: StageId,
  requestId: RequestId,
  kind: RequestKind,
  toolName: z.string(),
  displayName: z.string(),
  input: ToolInput,
  /** One line of the CLI's: a Bash call's own description, or the path it touches. */
  description: z.string().nullable(),
  toolUseId: z.string(),
  /** The subagent that asks, by its description; null for the main conversation. */
  agent: z.string().nullable(),
  /** The subagent that started that one, by its description; null if the main conversation did. */
  parentAgent: z.string().nullable().default(null),
  /** While Claude plans: the permission mode that the session worked in before. Left out if there was none. */
  modeBefore: z.string().optional(),
  /** Why no rule allowed it, in the CLI's words. */
  reason: z.string().nullable(),
  /** A path outside the allowed folders that the call would write to. */
  blockedPath: z.string().nullable(),
  suggestions: z.array(PermissionUpdate),
  /** True where "always allow" must not be offered. */
  suppressAlwaysAllow: z.boolean(),
  /** Set if the command asks to run outside the sandbox: no rule covers that, and none can be kept. Null for all others. */
  leavesSandbox: LeavesSandbox.nullable().default(null),
  /** For a `network` request, the commands that ran when it was made. If there is only one, that one asks. */
  commands: z.array(AskingCommand).default([]),
  /** What is known to be at risk, the gravest first. Empty if only harmless reading was found, or for requests of older releases. */
  stakes: z.array(Risk).default([]),
  /** For a `Write`: whether its file existed when it asked; left out if unknown. */
  fileExists: z.boolean().optional(),
  /**
   * For a command in the sandbox: the hosts that it usually needs and would ask for once it runs. `hosts` of the answer allows them with
   * it. Left out if none are known.
   */
  hosts: z.array(z.string()).optional(),
  /** Set if a hook changed the call: `input` is what would run. Left out if Claude wrote it. */
  inputChange: InputChange.optional(),
  createdAt: z.iso.datetime(),
  /** When it is denied automatically, if the project has a time limit. */
  expiresAt: z.iso.datetime().nullable().default(null),
  /** Somebody is answering: their answer is kept back for a moment. Left out if nobody is. */
  held: DelayedAnswer.optional(),
});
export type PendingRequest = z.infer<typeof PendingRequest>;

/** How a request ended. `closed`: nobody answered, because it was cancelled or its process ended. */
export const RequestOutcome = z.enum(['allowed', 'denied', 'answered', 'timed-out', 'closed']);
export type RequestOutcome = z.infer<typeof RequestOutcome>;

/** An outcome within a sentence. */
export const OUTCOME_VERBS: Readonly<Record<RequestOutcome, string>> = {
  allowed: 'allowed',
  denied: 'denied',
  answered: 'answered',
  'timed-out': 'timed out',
  closed: 'closed',
};

/**
 * How far an answer got: `accepted` (stored), `written` (in the process's input), `confirmed` (echoed by the CLI),
 * `not-applied` (withdrawn before the answer counted), `unknown` (its process, or its turn, ended before it was confirmed),
 * `none` (there was no answer to deliver).
 */
export const Delivery = z.enum(['accepted', 'written', 'confirmed', 'not-applied', 'unknown', 'none']);
export type Delivery = z.infer<typeof Delivery>;

/** The trace of an answer that was not confirmed before its process or its turn ended. */
export const LostTrace = z.object({
  /** Which of them ended. */
  ended: z.enum(['process', 'turn']).default('process'),
  /** When it was handed to the process; null if it may have been while the orchestrator was down. */
  writtenAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime(),
  /** Why it ended, or what is missing, in words. */
  endReason: z.string(),
});
export type LostTrace = z.infer<typeof LostTrace>;

/** How a person settled an answer with an unknown delivery: by dismissing it, or by telling Claude in a message. */
export const Settlement = z.object({
  how: z.enum(['dismissed', 'retried']),
  by: z.string(),
  at: z.iso.datetime(),
});
export type Settlement = z.infer<typeof Settlement>;

/** How a pending request ended: who decided what and when, and how long Claude waited. Also a call that was denied without a request. */
export const Decision = z.object({
  stageId: StageId,
  requestId: RequestId,
  kind: RequestKind,
  toolName: z.string(),
  /** What was asked for, in one line: "Bash npm install". */
  asked: z.string().default(''),
  toolUseId: z.string(),
  outcome: RequestOutcome,
  /** Who decided; null if nobody did. */
  by: z.string().nullable(),
  /** The browser or terminal in which they did: `Chrome on Android`, `Terminal on desk`. Left out if unknown. */
  device: z.string().optional(),
  at: z.iso.datetime(),
  waitedMs: z.int().nonnegative(),
  /** The reason given with a denial, or why a request was closed. */
  reason: z.string().nullable(),
  answers: z.record(z.string(), z.string()).nullable(),
  updatedInput: ToolInput.nullable(),
  /** Hosts that were allowed with the command, for as long as it ran. Left out if none were. */
  hosts: z.array(z.string()).optional(),
  /** Set if a hook changed the call before a person was asked: what was decided on is not what Claude wrote. */
  inputChange: InputChange.optional(),
  delivery: Delivery,
  /** Set if Claude Code denied the call itself and asked nobody, so there was no request; null if a person was asked. */
  denial: Denial.nullable().default(null),
  /** With the delivery `unknown`: what is known nevertheless. */
  lost: LostTrace.nullable().default(null),
  /** With the delivery `unknown`: how a person settled it; null until somebody does. */
  settlement: Settlement.nullable().default(null),
  /** In the decision log: the title of its stage, or the last one of a deleted stage, and its project. */
  stageTitle: z.string().nullable().optional(),
  projectId: ProjectId.nullable().optional(),
  isStageDeleted: z.boolean().optional(),
});
export type Decision = z.infer<typeof Decision>;

/** Returns who decided, and where: "by Ada from Terminal on desk". Empty if nobody did. */
export const byWhom = ({ by, device }: Pick<Decision, 'by' | 'device'>): string =>
  by === null ? '' : `by ${by}${device === undefined ? '' : ` from ${device}`}`;

/** Whether a person still has to settle an answer with an unknown delivery. */
export const isUnsettled = ({ delivery, settlement }: Pick<Decision, 'delivery' | 'settlement'>): boolean =>
  delivery === 'unknown' && settlement === null;

/** Keeps an answer back for two seconds; until then its person can take it back. */
/** Returns the path that made Claude Code ask, in words. @param folder of the stage's worktree, or null */
export function blockedPathText(path: string, folder: string | null): string {
  const base = folder === null || folder === '' || folder.endsWith('/') ? folder : `${folder}/`;
  if (base !== null && base !== '' && path.startsWith(base)) return `On ${path.slice(base.length)}`;
  return `Outside the stage's folder: ${path}`;
}

const hold = z.boolean().optional();

export const ApproveBody = z.strictObject({
  requestId: RequestId,
  decision: z.enum(['allow', 'deny']),
  /** Read by the model, word for word, when the decision is `deny`. */
  reason: z.string().max(20_000, 'is longer than 20,000 characters').optional(),
  /** Replaces the whole input of the call. For an elicitation: the content of the form. */
  updatedInput: ToolInput.optional(),
  /** Granted with it; they take effect at once. An update that the CLI would ignore is refused. */
  updatedPermissions: z.array(PermissionUpdate).max(100).optional(),
  /**
   * For whom the allow rules among them are kept and passed on at every start; for the stage by default. For a
   * `network` request: for whom its host is kept; by default for nobody.
   */
  remember: RuleScope.optional(),
  /** When the kept rules stop by themselves; never without it. */
  rememberUntil: z.iso.datetime().optional(),
  /** With `allow`: hosts of the request that its command may reach while it runs. Another host, or a later command, asks as usual. */
  hosts: z.array(z.string()).max(20).optional(),
  /** With `deny`: the turn ends as well, and the model does not read the reason. */
  interrupt: z.boolean().optional(),
  /** With `deny`, for an elicitation: the form is closed without an answer, neither sent nor declined. */
  cancel: z.literal(true).optional(),
  hold,
});
export type ApproveBody = z.infer<typeof ApproveBody>;

export const AnswerBody = z.strictObject({
  requestId: RequestId,
  /** Keyed by the question's text; the labels of a multiple choice joined by ", ". */
  answers: Answers,
  hold,
});
export type AnswerBody = z.infer<typeof AnswerBody>;

/** An answer was kept back, and nothing is decided yet. */
export const DelayedReply = z.object({ heldUntil: z.iso.datetime() });

/** What an answer led to: a decision, or with `hold` nothing yet. */
export const AnswerReply = z.union([z.object({ decision: Decision }), DelayedReply]);
export type AnswerReply = z.infer<typeof AnswerReply>;

export const DecisionSource = z.enum(['person', ...DenialSource.options]);
export type DecisionSource = z.infer<typeof DecisionSource>;
export const DecisionFilter = z.strictObject({
  projectId: ProjectId.optional(),
  stageId: StageId.optional(),
  outcome: RequestOutcome.optional(),
  kind: RequestKind.optional(),
  by: z.string().optional(),
  /** The browser or terminal that decided: `Chrome on Android`. */
  device: z.string().optional(),
  /** `person`: requests that a person was asked about. The others: the part of Claude Code that denied a call without asking. */
  source: DecisionSource.optional(),
  toolName: z.string().optional(),
  /** Decided at or after `since`, and before `before`. */
  since: z.iso.datetime().optional(),
  before: z.iso.datetime().optional(),
  limit: z.int().positive().max(1000).optional(),
});
export type DecisionFilter = z.infer<typeof DecisionFilter>;

/** The value of a form's field while a person fills it in. */
export type FieldValue = string | boolean;

const Property = z.looseObject({
  type: z.string().optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
});
const Schema = z.looseObject({
  properties: z.record(z.string(), Property),
  required: z.array(z.string()).default([]),
});

export interface FormField {
  name: string;
  label: string;
  description: string | undefined;
  kind: 'text' | 'number' | 'flag' | 'choice';
  choices: { value: string; label: string }[];
  required: boolean;
  initial: FieldValue;
}

/** Returns the fields of an MCP server's form; empty if its schema cannot be read. */
export function fieldsOf(input: ToolInput): FormField[] {
  const schema = Schema.safeParse(input.requested_schema);
  if (!schema.success) return [];
  const { properties, required } = schema.data;
  return Object.entries(properties).map(([name, property]) => ({
    name,
    label: visibleText(property.title ?? name, 'prose'),
    description: property.description === undefined ? undefined : visibleText(property.description, 'prose'),
    kind: kindOf(property),
    choices: (property.enum ?? []).map((value, i) => ({
      value,
      label: visibleText(property.enumNames?.[i] ?? value, 'prose'),
    })),
    required: required.includes(name),
    initial: property.type === 'boolean' ? property.default === true : String(property.default ?? ''),
  }));
}

function kindOf({ type, enum: values }: z.infer<typeof Property>): FormField['kind'] {
  if (values !== undefined) return 'choice';
  if (type === 'boolean') return 'flag';
  return type === 'number' || type === 'integer' ? 'number' : 'text';
}

type Values = Readonly<Record<string, FieldValue>>;

/** Returns the content to send, without empty fields. */
export function contentOf(fields: readonly FormField[], values: Values): ToolInput {
  const filled = fields.map(({ name, kind, initial }) => {
    const value = values[name] ?? initial;
    return [name, kind === 'number' && value !== '' ? Number(value) : value] as const;
  });
  return Object.fromEntries(filled.filter(([, value]) => value !== ''));
}

export const isFilledIn = (fields: readonly FormField[], values: Values): boolean =>
  fields.every(({ name, kind, required, initial }) => {
    const value = values[name] ?? initial;
    if (value === '') return !required;
    return fieldProblem(kind, value) === null;
  });

/** Returns the problem with a field's value as a sentence; null if there is none. */
export const fieldProblem = (kind: FormField['kind'], value: FieldValue): string | null =>
  kind === 'number' && Number.isNaN(Number(value)) ? 'This is not a number.' : null;
