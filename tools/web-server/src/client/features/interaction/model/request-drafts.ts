import { PermissionMode } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { unsentOnDevice } from '../../../lib/unsent-on-device.ts';
import { createDraftSaver } from './draft-saver.ts';
import { type AnswerDraft, EMPTY_ANSWER } from './question-answers.ts';

const Answer = z.object({ chosen: z.array(z.string()), other: z.string(), otherOn: z.boolean() });
const Begun = z.object({ block: z.int(), quote: z.string(), text: z.string() });
const Comment = Begun.extend({ id: z.string() });

/** A comment on a plan: the index of its block, the quoted words, and the text. */
export type PlanComment = z.infer<typeof Comment>;

/** A comment that a person is writing. */
export type BegunComment = z.infer<typeof Begun>;

/** A person's unsent input for a request, shared by the overlay, the inbox and the stage's page. */
const RequestDraft = z.object({
  reason: z.string().default(''),
  /** The mode that follows an accepted plan; null while nobody has chosen one. */
  mode: PermissionMode.nullable().default(null),
  answers: z.array(Answer).default([]),
  /** The values of a form, by field name. */
  fields: z.record(z.string(), z.union([z.string(), z.boolean()])).default({}),
  /** The command, or the whole input as JSON, as edited before allowing it; null while it is unchanged. */
  edited: z.string().nullable().default(null),
  comments: z.array(Comment).default([]),
  /** The comment that is being written and was not added; null while it has no text. */
  begun: Begun.nullable().default(null),
});
export type RequestDraft = z.infer<typeof RequestDraft>;

export const EMPTY_DRAFT: RequestDraft = RequestDraft.parse({});

/** Parses a draft from the server; null if it cannot be read. */
export const readDraft = (value: unknown): RequestDraft | null => RequestDraft.safeParse(value).data ?? null;

interface Unsaved {
  byRequest: Readonly<Record<string, RequestDraft>>;
  saver: ReturnType<typeof createDraftSaver>;
  set(key: string, draft: RequestDraft): void;
  drop(key: string): void;
}

const onDevice = unsentOnDevice('request', RequestDraft);

/** Drafts that the server does not have yet, kept by the browser at each key. They take precedence over the server's. */
export const useUnsaved = create<Unsaved>((set, get) => ({
  byRequest: onDevice.all(),
  saver: createDraftSaver(),
  set(key, draft) {
    onDevice.save(key, draft);
    set(({ byRequest }) => ({ byRequest: { ...byRequest, [key]: draft } }));
  },
  drop(key) {
    const { [key]: dropped, ...byRequest } = get().byRequest;
    if (dropped !== undefined) onDevice.forget(key, dropped);
    set({ byRequest });
  },
}));

export function withAnswer({ answers }: RequestDraft, index: number, answer: AnswerDraft): AnswerDraft[] {
  const length = Math.max(answers.length, index + 1);
  return Array.from({ length }, (_, i) => (i === index ? answer : (answers[i] ?? EMPTY_ANSWER)));
}
