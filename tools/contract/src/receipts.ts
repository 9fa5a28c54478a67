import { z } from 'zod';
import { RequestKind } from './approvals.ts';
import { StageId } from './ids.ts';

/**
 * Why a tool call ran, or did not. `person`: somebody allowed or answered it. `rule`, `hook`, `mode` and `classifier` (the safety
 * check of auto mode): as Claude Code tells. `claude-code`: Claude Code allowed it itself, for instance because it only
 * reads or ran in the sandbox. `denied-by-person`, `denied-by-time` and `denied-by-claude-code`: it did not run. `not-run`: nobody decided,
 * or it was cut off. `no-record`: it ran, and nothing says why.
 */
export const ReceiptReason = z.enum([
  ...(['person', 'rule', 'hook', 'mode', 'classifier', 'claude-code'] as const),
  ...(['denied-by-person', 'denied-by-time', 'denied-by-claude-code', 'not-run', 'no-record'] as const),
]);
export type ReceiptReason = z.infer<typeof ReceiptReason>;

/** Why tool calls ran or did not, after their number or the call. */
export const RECEIPT_TEXTS: Readonly<Record<ReceiptReason, string>> = {
  person: 'allowed by a person',
  rule: 'allowed by a rule',
  hook: 'allowed by a hook',
  mode: 'allowed by the permission mode',
  classifier: 'allowed by the safety check of auto mode',
  'claude-code': 'ran without asking, by what Claude Code allows itself',
  'denied-by-person': 'denied by a person',
  'denied-by-time': 'denied because nobody answered in time',
  'denied-by-claude-code': 'denied by Claude Code',
  'not-run': 'did not run',
  'no-record': 'without a record of what let it run',
};

/** A tool call, and why it ran or did not. */
export const ReceiptCall = z.object({
  toolUseId: z.string(),
  /** "Bash npm install" */
  asked: z.string(),
  reason: ReceiptReason,
  /** Who decided; null if nobody did. */
  by: z.string().nullable(),
  /** The rule, the mode, or the words with it; null if there are none. */
  detail: z.string().nullable(),
  /** Set if a hook changed the call: its command, if known, and what Claude wrote; `asked` is what ran. */
  changed: z.object({ hook: z.string().nullable(), from: z.string() }).optional(),
  /** Whether a subagent called it. */
  isAgents: z.boolean(),
});
export type ReceiptCall = z.infer<typeof ReceiptCall>;

export const ReceiptTurn = z.object({
  /** From 1. */
  number: z.int().positive(),
  at: z.iso.datetime(),
  /** The beginning of the message that began it, and who wrote it; null for a turn that Claude Code began itself. */
  message: z.string().nullable(),
  by: z.string().nullable(),
  calls: z.array(ReceiptCall),
});
export type ReceiptTurn = z.infer<typeof ReceiptTurn>;

/** What people consented to while a stage was worked on, from its transcript and the decision log. */
export const Receipt = z.object({
  stageId: StageId,
  title: z.string(),
  turns: z.array(ReceiptTurn),
  /** Each tool call of the transcript is counted exactly once. */
  total: z.int().nonnegative(),
  totals: z.partialRecord(ReceiptReason, z.int().positive()),
  /** Decisions that belong to no tool call: hosts, forms, and calls that the transcript lacks. */
  others: z.array(
    z.object({
      kind: RequestKind,
      asked: z.string(),
      outcome: z.string(),
      by: z.string().nullable(),
      at: z.iso.datetime(),
    }),
  ),
  /** What is not known, in words. */
  gaps: z.array(z.string()),
});
export type Receipt = z.infer<typeof Receipt>;

/** The totals with their words, in the order of the reasons. */
export const receiptCounts = (totals: Receipt['totals']) =>
  ReceiptReason.options.flatMap((reason) => {
    const count = totals[reason];
    return count === undefined ? [] : [{ reason, count, text: RECEIPT_TEXTS[reason] }];
  });
