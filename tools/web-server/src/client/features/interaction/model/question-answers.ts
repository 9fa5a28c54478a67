import { answersProblem, joinLabels, type Question } from '@callboard/contract';

/** A person's answer to one question so far. */
export interface AnswerDraft {
  chosen: string[];
  other: string;
  /** Whether `other` counts. Taking an option of a single choice keeps the text but ignores it. */
  otherOn: boolean;
}

export const EMPTY_ANSWER: AnswerDraft = { chosen: [], other: '', otherOn: false };

export function choose(question: Question, draft: AnswerDraft, label: string, on: boolean): AnswerDraft {
  if (question.multiSelect !== true) return { ...draft, chosen: on ? [label] : [], otherOn: false };
  const chosen = on ? [...draft.chosen, label] : draft.chosen.filter((other) => other !== label);
  return { ...draft, chosen };
}

export function typeOther(question: Question, draft: AnswerDraft, other: string): AnswerDraft {
  const otherOn = other.trim() !== '';
  const chosen = otherOn && question.multiSelect !== true ? [] : draft.chosen;
  return { chosen, other, otherOn };
}

/** Returns the answer to send: labels in the order they were offered, and free text unchanged. */
export function answerText(question: Question, { chosen, other, otherOn }: AnswerDraft): string {
  const labels = (question.options ?? []).map((option) => option.label).filter((label) => chosen.includes(label));
  return joinLabels(otherOn ? [...labels, other] : labels);
}

export function answersOf(questions: readonly Question[], drafts: readonly AnswerDraft[]): Record<string, string> {
  return Object.fromEntries(
    questions.map((question, index) => [question.question, answerText(question, drafts[index] ?? EMPTY_ANSWER)]),
  );
}

export const isComplete = (questions: readonly Question[], answers: Record<string, string>): boolean =>
  questions.length > 0 && answersProblem(questions, answers) === null;

const isOpen = ({ question }: Question, answers: Record<string, string>) =>
  !Object.hasOwn(answers, question) || answers[question]?.trim() === '';

/** Returns the index of the next question to answer: the first open one, or else the last. */
export function openQuestion(questions: readonly Question[], answers: Record<string, string>): number {
  const first = questions.findIndex((question) => isOpen(question, answers));
  return first === -1 ? questions.length - 1 : first;
}

/** How many of several questions are answered, and the place of the first open one; null if none is open, or there is only one. */
export function progress(
  questions: readonly Question[],
  answers: Record<string, string>,
): { text: string; next: number } | null {
  const open = questions.filter((question) => isOpen(question, answers)).length;
  if (open === 0 || questions.length < 2) return null;
  return {
    text: `${questions.length - open} of ${questions.length} answered`,
    next: openQuestion(questions, answers),
  };
}

/** The short name of a question. */
export const questionName = ({ header, question }: Question): string =>
  header === undefined || header === '' ? question : header;
