import { z } from 'zod';
import { StageId } from './ids.ts';
import { isUnderWay, type StageReview } from './review.ts';

/**
 * Templates of a phase's prompt: text with names in double braces. `\{{` stands for the braces themselves, and `\\{{` for a
 * backslash before a name. A value is never read as a template again.
 */

export const TEMPLATE_NAMES = ['stage.title', 'stage.prompt', 'previous.result', 'check.output'] as const;
export type TemplateName = (typeof TEMPLATE_NAMES)[number];
export type TemplateValues = Readonly<Record<TemplateName, string>>;

type TemplatePart = { text: string } | { name: TemplateName };

const isName = (name: string): name is TemplateName => TEMPLATE_NAMES.some((known) => known === name);

/** Opening braces with the backslashes before them. */
const OPENING = /(\\*)\{\{/g;
const MAX_SHOWN_LENGTH = 40;
const KNOWN = TEMPLATE_NAMES.map((name) => `{{${name}}}`).join(', ');
const AS_TEXT = String.raw`write \{{ if you mean the braces themselves`;

/** Returns the parts of a template, or what is wrong with it, as the end of a sentence that begins with its field. */
export function parseTemplate(template: string): { parts: TemplatePart[] } | { problem: string } {
  const parts: TemplatePart[] = [];
  let at = 0;
  OPENING.lastIndex = 0;
  for (let found = OPENING.exec(template); found !== null; found = OPENING.exec(template)) {
    const backslashes = found[1]?.length ?? 0;
    const before = template.slice(at, found.index) + '\\'.repeat(Math.floor(backslashes / 2));
    at = OPENING.lastIndex;
    if (backslashes % 2 === 1) {
      parts.push({ text: `${before}{{` });
      continue;
    }
    if (before !== '') parts.push({ text: before });
    const end = template.indexOf('}}', at);
    const line = template.slice(0, found.index).split('\n').length;
    if (end === -1) return { problem: `has {{ without }} in line ${line}; ${AS_TEXT}` };
    const name = template.slice(at, end).trim();
    if (!isName(name)) {
      const shown = name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}...` : name;
      return { problem: `has {{${shown}}} in line ${line}, which is no name: there are ${KNOWN}; ${AS_TEXT}` };
    }
    parts.push({ name });
    at = end + 2;
    OPENING.lastIndex = at;
  }
  if (at < template.length) parts.push({ text: template.slice(at) });
  return { parts };
}

/** Returns the text of a template with these values. A text that is no template stays as it is. */
export function renderTemplate(template: string, values: TemplateValues): string {
  const parsed = parseTemplate(template);
  if ('problem' in parsed) return template;
  return parsed.parts.map((part) => ('name' in part ? values[part.name] : part.text)).join('');
}

/** Whether a template uses this name. */
export function usesName(template: string, name: TemplateName): boolean {
  const parsed = parseTemplate(template);
  return 'parts' in parsed && parsed.parts.some((part) => 'name' in part && part.name === name);
}

/** Returns a template that stands for this very text. */
export const escapeTemplate = (text: string): string =>
  text.replace(OPENING, (_, backslashes: string) => String.raw`${backslashes}${backslashes}\{{`);

const MAX_PROMPT_LENGTH = 200_000;

/** Blank lines around a prompt say nothing; the indentation of its first line may: it is code, or a diagram. */
export const withoutBlankEnds = (text: string): string => text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd();

/** Refuses a text whose `{{...}}` cannot be read, and says why. */
export const Template = z
  .string()
  .overwrite(withoutBlankEnds)
  .min(1, 'is empty')
  .max(MAX_PROMPT_LENGTH, 'is longer than 200,000 characters')
  .superRefine((text, context) => {
    const parsed = parseTemplate(text);
    if ('problem' in parsed) context.addIssue({ code: 'custom', message: parsed.problem });
  });

/** A command that decides at the end of a phase: exit code 0 passes. */
export const Check = z.strictObject({
  /** A line for `/bin/sh -c`; it runs in the worktree. */
  command: z.string().trim().min(1, 'is empty').max(10_000, 'is longer than 10,000 characters'),
  /** In seconds. */
  timeLimit: z.number('is not a number').min(1, 'is below one second').max(86_400, 'is longer than a day').default(600),
  /** How often it may fail before a person is needed. Each failure before that goes back to Claude as a message. */
  attempts: z
    .int({ error: ({ input }) => (Number.isNaN(input) ? 'is not a number' : 'is not a whole number') })
    .min(1, 'is below 1')
    .max(20, 'is above 20')
    .default(3),
  /** What goes to Claude after a failure: a template, usually with `{{check.output}}`. Left out: Callboard's own words. */
  message: Template.optional(),
});
export type Check = z.infer<typeof Check>;

/** What stands between a phase and the next one. `human`: a person reviews the result before the next phase begins. */
export const Gate = z.union([z.enum(['none', 'human']), z.strictObject({ check: Check })], {
  error: ({ input, errors }) => {
    if (typeof input !== 'object' || input === null) return 'is "none", "human", or a check with its command';
    const [problem] = errors.at(-1) ?? []; // of a check
    return problem === undefined ? undefined : `${problem.path.join('.')} ${problem.message}`.trim();
  },
});
export type Gate = z.infer<typeof Gate>;

/** Returns the command of a gate; null if it has none. */
export const checkOf = (gate: Gate): Check | null => (typeof gate === 'string' ? null : gate.check);

/**
 * `waiting`: it is due, and runs as soon as there is room. `interrupted`: Callboard was restarted during it, and it is run again.
 * `not-started`: it could not be run.
 */
export const CheckState = z.enum([
  'waiting',
  'running',
  'passed',
  'failed',
  'timed-out',
  'stopped',
  'interrupted',
  'not-started',
]);
export type CheckState = z.infer<typeof CheckState>;

/** The newest check of a session, as the board shows it. */
export const StageCheck = z.object({
  checkId: z.uuid(),
  state: CheckState,
  command: z.string(),
  /** How often it failed since the phase began, since it last passed, or since a person last sent a message. */
  failures: z.int().nonnegative(),
  attempts: z.int().positive(),
  /** When it entered `state`. */
  since: z.iso.datetime(),
});
export type StageCheck = z.infer<typeof StageCheck>;

/** Whether a check of the phase, or Claude's review of it, is due or runs: the session goes on when it has ended. */
export const isChecking = (session: { check: StageCheck | null; review: StageReview | null }): boolean =>
  (session.check !== null && (session.check.state === 'waiting' || session.check.state === 'running')) ||
  isReviewing(session);

/** Whether Claude's review of the phase is due or runs. */
export const isReviewing = ({ review }: { review: StageReview | null }): boolean =>
  review !== null && isUnderWay(review);

/** Whether the check ended badly by its own doing, so that its output can tell Claude what to mend. */
export const hasFailed = (check: Pick<StageCheck, 'state'>): boolean =>
  check.state === 'failed' || check.state === 'timed-out';

/** What tells whether a session waits at the gate of a check. */
interface GateSession {
  readonly atGate: boolean;
  readonly check: StageCheck | null;
}

/** The check that a person decides about; null if none waits for one. */
export const checkAtGate = ({ session }: { session: GateSession | null }): StageCheck | null =>
  session?.atGate === true && session.check?.state !== 'passed' ? session.check : null;

/** Why a check waits for a person: "Check failed 3 times". */
export function checkGateText({ state, failures }: StageCheck): string {
  switch (state) {
    case 'failed':
      return failures <= 1 ? 'Check failed' : `Check failed ${failures} times`;
    case 'timed-out':
      return 'Check ran too long';
    case 'stopped':
      return 'Check stopped';
    case 'interrupted':
      return 'Check ended by restarts';
    case 'not-started':
      return 'Check could not run';
    case 'waiting':
    case 'running':
    case 'passed':
      return '';
    default:
      return state satisfies never;
  }
}

/** One run of a check. */
export const CheckRun = z.object({
  id: z.uuid(),
  stageId: StageId,
  phaseIndex: z.int().nonnegative(),
  phase: z.string(),
  command: z.string(),
  /** In seconds. */
  timeLimit: z.number().positive(),
  state: CheckState,
  /** The failures before it, and the number at which a person is needed. */
  failures: z.int().nonnegative(),
  attempts: z.int().positive(),
  /** Who asked for it; null: Callboard, after a turn. */
  by: z.string().nullable(),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
  exitCode: z.int().nullable(),
  /** Why it ended, in words; null where the exit code says it all. */
  reason: z.string().nullable(),
  /** Its run among the commands of the worktree, which keep the output; null before it was started. */
  commandId: z.string().nullable(),
  /** The message to Claude with its output; null if none was sent. */
  messageId: z.string().nullable(),
});
export type CheckRun = z.infer<typeof CheckRun>;

/** A phase of a stage that has begun. */
export const PhaseRun = z.object({
  stageId: StageId,
  phaseIndex: z.int().nonnegative(),
  phase: z.string(),
  /** What was sent to Claude. */
  prompt: z.string(),
  begunAt: z.iso.datetime(),
  /** Claude's last words in it, as of its newest turn; null before that has ended. */
  result: z.string().nullable(),
  endedAt: z.iso.datetime().nullable(),
});
export type PhaseRun = z.infer<typeof PhaseRun>;
