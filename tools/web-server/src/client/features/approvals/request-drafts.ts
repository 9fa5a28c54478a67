import { answersProblem, joinLabels, type PendingRequest, PermissionMode, type Question } from '@callboard/contract';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { z } from 'zod';
import { create } from 'zustand';
import { draftOf, draftsQuery, putDraft } from '../../data/server-drafts.ts';
import { unsentOnDevice } from '../../lib/browser-storage.ts';
import { requestKey } from '../../lib/format.ts';

const PAUSE_MS = 400;

type Save = (options: { keepalive: boolean }) => Promise<void>;

/** Saves drafts after a pause in typing, one save at a time and the newest last; saves at once when the page is left. */
export function createDraftSaver(pauseMs = PAUSE_MS) {
  const planned = new Map<string, { save: Save; timer: ReturnType<typeof setTimeout> }>();
  const running = new Map<string, Promise<void>>();

  function run(key: string, save: Save, keepalive: boolean): void {
    const before = keepalive ? Promise.resolve() : (running.get(key) ?? Promise.resolve());
    // A draft that could not be saved stays in this tab; the next change retries.
    const next = before.then(() => save({ keepalive })).catch(() => undefined);
    running.set(key, next);
    void next.finally(() => {
      if (running.get(key) === next) running.delete(key);
    });
  }

  function cancel(key: string): void {
    clearTimeout(planned.get(key)?.timer);
    planned.delete(key);
  }

  return {
    plan(key: string, save: Save): void {
      cancel(key);
      const timer = setTimeout(() => {
        planned.delete(key);
        run(key, save, false);
      }, pauseMs);
      planned.set(key, { save, timer });
    },
    now(key: string, save: Save): void {
      cancel(key);
      run(key, save, false);
    },
    flush(): void {
      for (const [key, { save }] of [...planned]) {
        cancel(key);
        run(key, save, true);
      }
    },
  };
}

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
  /** Whether the hosts that the request names are allowed with it. */
  withHosts: z.boolean().default(false),
  comments: z.array(Comment).default([]),
  /** The comment that is being written and was not added; null while it has no text. */
  begun: Begun.nullable().default(null),
});
export type RequestDraft = z.infer<typeof RequestDraft>;

export const EMPTY_DRAFT: RequestDraft = RequestDraft.parse({});

/** Parses a draft from the server; null if it cannot be read. */
const readDraft = (value: unknown): RequestDraft | null => RequestDraft.safeParse(value).data ?? null;

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

type Location = Pick<PendingRequest, 'stageId' | 'requestId'>;

/** Saves drafts when the page is left or hidden. @returns a function that stops this */
export function saveDraftsOnLeave(): () => void {
  const { saver } = useUnsaved.getState();
  const onVisibility = () => {
    if (document.visibilityState === 'hidden') saver.flush();
  };
  // Not `unload`: the browser may discard a background page without firing it.
  window.addEventListener('pagehide', saver.flush);
  document.addEventListener('visibilitychange', onVisibility);
  return () => {
    window.removeEventListener('pagehide', saver.flush);
    document.removeEventListener('visibilitychange', onVisibility);
  };
}

/** Returns the draft of a request and a function that changes it. */
export function useDraft(request: Location): [RequestDraft, (change: Partial<RequestDraft>) => void] {
  const { stageId, requestId } = request;
  const cache = useQueryClient();
  const { data: stored } = useQuery({ ...draftsQuery(request.stageId), select: draftOf(request.requestId) });
  const unsaved = useUnsaved(({ byRequest }) => byRequest[requestKey(request)]);
  const draft = unsaved ?? readDraft(stored?.value) ?? EMPTY_DRAFT;
  useEffect(() => {
    // What an earlier page has left in this browser is told to the server as well.
    const { byRequest } = useUnsaved.getState();
    const left = byRequest[requestKey({ stageId, requestId })];
    if (left !== undefined) changeDraft(cache, { stageId, requestId }, left);
  }, [cache, stageId, requestId]);
  return [draft, (change) => changeDraft(cache, request, { ...current(cache, request), ...change })];
}

/** Returns the newest state, even for a second change before the next render. */
const current = (cache: QueryClient, request: Location): RequestDraft =>
  useUnsaved.getState().byRequest[requestKey(request)] ?? readDraft(storedDraft(cache, request)?.value) ?? EMPTY_DRAFT;

const storedDraft = (cache: QueryClient, { stageId, requestId }: Location) =>
  draftOf(requestId)(cache.getQueryData(draftsQuery(stageId).queryKey) ?? []);

function changeDraft(cache: QueryClient, request: Location, draft: RequestDraft): void {
  const key = requestKey(request);
  const { set, drop, saver } = useUnsaved.getState();
  set(key, draft);
  saver.plan(key, async ({ keepalive }) => {
    const isSame = JSON.stringify(draft) === JSON.stringify(EMPTY_DRAFT);
    const value = isSame ? null : draft;
    await putDraft(cache, { stageId: request.stageId, key: request.requestId, value }, { keepalive });
    // The drafts may still be on their way, as they were before this one: then only this tab has it.
    const isSaved = value === null || storedDraft(cache, request) !== undefined;
    if (isSaved && useUnsaved.getState().byRequest[key] === draft) drop(key);
  });
}

/** Removes the draft of an answered request. */
export function dropDraft(cache: QueryClient, request: Location): void {
  const key = requestKey(request);
  const isKnown = key in useUnsaved.getState().byRequest || storedDraft(cache, request) !== undefined;
  const { drop, saver } = useUnsaved.getState();
  drop(key);
  if (!isKnown) return;
  saver.now(key, async () => {
    await putDraft(cache, { stageId: request.stageId, key: request.requestId, value: null });
  });
}
