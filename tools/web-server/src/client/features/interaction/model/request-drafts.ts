import { PermissionMode } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { createDraftSaver } from './draft-saver.ts';
import { type AnswerDraft, EMPTY_ANSWER } from './question-answers.ts';

const Answer = z.object({ chosen: z.array(z.string()), other: z.string(), otherOn: z.boolean() });
const Begun = z.object({ block: z.int(), quote: z.string(), text: z.string() });
const Comment = Begun.extend({ id: z.string() });

/** A remark on a plan: which paragraph, the words it is about, and what is said about them. */
export type PlanComment = z.infer<typeof Comment>;

/** A remark that is being written. */
export type BegunComment = z.infer<typeof Begun>;

/** What was typed and chosen for a request and not sent: the same in the overlay, in the inbox and on the stage's page. */
const RequestDraft = z.object({
  reason: z.string().default(''),
  /** The mode that follows an accepted plan. */
  mode: PermissionMode.default('default'),
  answers: z.array(Answer).default([]),
  /** What was filled into a form, by the field's name. */
  fields: z.record(z.string(), z.union([z.string(), z.boolean()])).default({}),
  /** The command, or the whole input as JSON, as it was changed before it is allowed; null while it is as Claude asked. */
  edited: z.string().nullable().default(null),
  comments: z.array(Comment).default([]),
  /** The one that is being written and was not added; null while there are no words. */
  begun: Begun.nullable().default(null),
});
export type RequestDraft = z.infer<typeof RequestDraft>;

export const EMPTY_DRAFT: RequestDraft = RequestDraft.parse({});

/** A draft as the server kept it; what cannot be read counts as none. */
export const readDraft = (value: unknown): RequestDraft | null => RequestDraft.safeParse(value).data ?? null;

interface Unsaved {
  byRequest: Readonly<Record<string, RequestDraft>>;
  saver: ReturnType<typeof createDraftSaver>;
  set(key: string, draft: RequestDraft): void;
  drop(key: string): void;
}

/** What the server does not have yet; it comes before what the server has. */
export const useUnsaved = create<Unsaved>((set) => ({
  byRequest: {},
  saver: createDraftSaver(),
  set: (key, draft) => set(({ byRequest }) => ({ byRequest: { ...byRequest, [key]: draft } })),
  drop: (key) => set(({ byRequest: { [key]: _, ...byRequest } }) => ({ byRequest })),
}));

export function withAnswer({ answers }: RequestDraft, index: number, answer: AnswerDraft): AnswerDraft[] {
  const length = Math.max(answers.length, index + 1);
  return Array.from({ length }, (_, i) => (i === index ? answer : (answers[i] ?? EMPTY_ANSWER)));
}
