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

/** What is wrong with these answers to these questions, in words; null when nothing is. */
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

/** Several chosen labels as the one string that the CLI recognises as labels. */
export const joinLabels = (labels: readonly string[]): string => labels.join(', ');
