import { FindingSeverity, type PullRequestText, type ReviewFinding, type SideRunKind } from '@callboard/contract';
import { z } from 'zod';
import type { LimitRefusal } from '../agent/agent-event.ts';
import { refusalOf } from '../claude/translate-limits.ts';
import { ResultMessage } from '../claude/wire/messages.ts';
import { parseJson } from '../lib/parse-json.ts';

const MAX_TEXT_LENGTH = 10_000;
const MAX_SUMMARY_LENGTH = 4_000;
const MAX_FINDINGS = 200;
/** How much of what Claude said instead of an answer is told. */
const SAID = 300;

const ReviewAnswer = z.object({
  summary: z.string().describe('Your verdict in one to three sentences.'),
  findings: z.array(
    z.object({
      path: z.string().min(1).describe('The file, as the diff names it.'),
      side: z.enum(['old', 'new']).describe('"new", or "old" for lines that the changes removed.'),
      line: z.int().positive().describe('The first line that it is about, in the file of that side.'),
      endLine: z.int().positive().optional().describe('The last line, if there are several.'),
      severity: FindingSeverity.describe(
        '"high": wrong or dangerous. "medium": should change. "low": could be better.',
      ),
      text: z.string().min(1).describe('What is wrong, why, and what to do instead.'),
    }),
  ),
});

const TextAnswer = z.object({
  title: z.string().min(1).describe('The title, of at most 70 characters, without a full stop.'),
  body: z.string().describe('The text, in Markdown: what changes and why.'),
});

const SCHEMAS = { review: ReviewAnswer, 'pull-request': TextAnswer } as const;

/** Returns the JSON schema that Claude Code makes Claude's answer follow. */
export function answerSchema(kind: SideRunKind): object {
  const { $schema: _, ...schema } = z.toJSONSchema(SCHEMAS[kind], { target: 'draft-7' });
  return schema;
}

/** What Claude Code prints at the end with `--output-format=json`. */
const Printed = z.object({
  type: z.literal('result'),
  subtype: z.string().default(''),
  is_error: z.boolean().default(false),
  result: z.string().default(''),
  errors: z.array(z.string()).default([]),
  structured_output: z.unknown().optional(),
  total_cost_usd: z.number().nonnegative().nullable().default(null),
  ...ResultMessage.pick({ api_error: true, api_error_params: true }).shape,
});

/** What Claude answered, or why that cannot be used, in a whole sentence. */
export type Answer = { costUsd: number | null } & (
  | { kind: 'review'; summary: string; findings: ReviewFinding[] }
  | { kind: 'pull-request'; text: PullRequestText }
  /** `limit`: a usage limit of the account refused it. */
  | { kind: 'none'; reason: string; limit?: LimitRefusal }
);

/** Reads the output of a run. It never fails: an answer that cannot be used says why. */
export function readAnswer(kind: SideRunKind, output: string): Answer {
  const printed = printedIn(output);
  if (printed === null) return { kind: 'none', costUsd: null, reason: `Claude Code gave no answer. ${said(output)}` };
  const { total_cost_usd: costUsd, structured_output: answer } = printed;
  const none = (reason: string) => ({ kind: 'none' as const, costUsd, reason });
  const text = printed.errors.join(' ') || printed.result;
  if (printed.api_error === 'usage_limit_reached') {
    const { api_error_params: reported } = printed;
    const limit = reported === undefined ? { window: null, resetsAt: null } : refusalOf(reported.rate_limit_info);
    return { ...none('The usage limit of the account was reached. Try again once it has reset.'), limit };
  }
  if (printed.is_error) return none(`Claude could not answer. ${said(text)}`);
  if (answer === undefined || answer === null)
    return none(`Claude did not answer in the form that was asked for. ${said(text)}`);
  if (kind === 'review') {
    const parsed = ReviewAnswer.safeParse(answer);
    if (!parsed.success) return none(wrongForm(parsed.error));
    const { summary, findings } = parsed.data;
    return {
      kind,
      costUsd,
      summary: cut(summary, MAX_SUMMARY_LENGTH),
      findings: findings.slice(0, MAX_FINDINGS).map(tidy),
    };
  }
  const parsed = TextAnswer.safeParse(answer);
  if (!parsed.success) return none(wrongForm(parsed.error));
  const title = parsed.data.title.replaceAll(/\s+/g, ' ').trim();
  if (title === '') return none('Claude’s answer has an empty title.');
  return { kind, costUsd, text: { title: cut(title, 250), body: cut(parsed.data.body.trim(), 60_000) } };
}

function printedIn(output: string): z.infer<typeof Printed> | null {
  for (const line of output.split('\n').toReversed()) {
    if (!line.startsWith('{')) continue;
    const parsed = Printed.safeParse(parseJson(line)); // the answer may stand before a line of something else
    if (parsed.success) return parsed.data;
  }
  return null;
}

const tidy = ({ endLine, text, ...finding }: z.infer<typeof ReviewAnswer>['findings'][number]): ReviewFinding => ({
  ...finding,
  text: cut(text, MAX_TEXT_LENGTH),
  ...(endLine !== undefined && endLine > finding.line && { endLine }),
});

const cut = (text: string, most: number): string =>
  (text.length > most ? `${text.slice(0, most)} ...` : text).toWellFormed();

const said = (text: string): string => {
  const plain = text.trim().replaceAll(/\s+/g, ' ');
  return plain === '' ? 'It said nothing.' : `It said: ${cut(plain, SAID)}`;
};

function wrongForm(error: z.ZodError): string {
  const [issue] = error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : ` (${issue.path.join('.')}: ${issue.message})`;
  return `Claude’s answer has the wrong form${where}.`;
}
