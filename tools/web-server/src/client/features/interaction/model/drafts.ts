import type { PermissionMode } from '@callboard/contract';
import { create } from 'zustand';
import { type AnswerDraft, EMPTY_ANSWER } from './answers.ts';
import type { FieldValue } from './elicitation.ts';

/** What was typed and chosen for a request and not sent: the same in the overlay, in the inbox and on the stage's page. */
export interface RequestDraft {
  reason: string;
  /** The mode that follows an accepted plan. */
  mode: PermissionMode;
  answers: readonly AnswerDraft[];
  /** What was filled into a form, by the field's name. */
  fields: Readonly<Record<string, FieldValue>>;
}

const EMPTY_DRAFT: RequestDraft = { reason: '', mode: 'default', answers: [], fields: {} };

interface Drafts {
  byRequest: Readonly<Record<string, RequestDraft>>;
  change(key: string, change: Partial<RequestDraft>): void;
  setAnswer(key: string, index: number, answer: AnswerDraft): void;
  drop(key: string): void;
}

export const useDrafts = create<Drafts>((set) => {
  const update = (key: string, next: (draft: RequestDraft) => RequestDraft) =>
    set(({ byRequest }) => ({ byRequest: { ...byRequest, [key]: next(byRequest[key] ?? EMPTY_DRAFT) } }));
  return {
    byRequest: {},
    change: (key, change) => update(key, (draft) => ({ ...draft, ...change })),
    setAnswer: (key, index, answer) =>
      update(key, (draft) => ({ ...draft, answers: withAnswer(draft, index, answer) })),
    drop: (key) => set(({ byRequest: { [key]: _, ...byRequest } }) => ({ byRequest })),
  };
});

export const useDraft = (key: string): RequestDraft => useDrafts((drafts) => drafts.byRequest[key] ?? EMPTY_DRAFT);

function withAnswer({ answers }: RequestDraft, index: number, answer: AnswerDraft): AnswerDraft[] {
  const length = Math.max(answers.length, index + 1);
  return Array.from({ length }, (_, i) => (i === index ? answer : (answers[i] ?? EMPTY_ANSWER)));
}
