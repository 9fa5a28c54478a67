import { z } from 'zod';

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
