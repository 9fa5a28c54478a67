import { z } from 'zod';
import { Decision, ToolInput } from './approvals.ts';
import { MessageId, StageId } from './ids.ts';
import { AttachmentInfo } from './messages.ts';
import { SandboxFailure } from './sandbox.ts';
import { AlarmCode } from './sessions.ts';

/**
 * The `blockId` of a text or thinking entry equals that of its text deltas, so that a page can replace the streamed text with
 * the stored entry.
 */
const base = {
  stageId: StageId,
  /** Position in the stage's transcript, from 1, without gaps. */
  index: z.int().positive(),
  at: z.iso.datetime(),
  /** The tool call that started the subagent; null in the main conversation. */
  parentToolUseId: z.string().nullable(),
};

/** What a notice is about. Stable, for clients and for tests. */
export const NoticeCode = z.enum([
  ...AlarmCode.options,
  'adopted',
  'alarm-acknowledged',
  'api-retry',
  'begun-again',
  'beyond-budget',
  'budget-near',
  'budget-spent',
  'call-deferred',
  'check',
  'cli-gaps',
  'compacted',
  'conversation-cleared',
  'conversation-damaged',
  'conversation-lost',
  'denial-acknowledged',
  'denial-not-retried',
  'limit-reset',
  'forked',
  'gone-back',
  'going-back-failed',
  'going-back-undone',
  'in-terminal',
  'informational',
  'input-changed',
  'launch-failed',
  'leftovers',
  'leftovers-ended',
  'machine-back',
  'machine-lost',
  'mcp-failed',
  'message-unknown',
  'model-fallback',
  'new-rules',
  'notification',
  'old-worktree',
  'output-cut-off',
  'output-lost',
  'placeholders-committed',
  'permission-denied',
  'phase',
  'pull-request',
  'files-not-kept',
  'process-ended',
  'released',
  'reopened',
  'merged',
  'merge-undone',
  'review',
  'rules-not-told',
  'sandbox-left',
  'sandbox-loosened',
  'session-message',
  'settings-changed',
  'settings-left-out',
  'taken-back',
  'task-marked',
  'task-stopped',
  'tasks-ended',
  'told-again',
  'too-large',
  'turn-forgotten',
  'unknown-permission-request',
  'unknown-request',
  'wake-ups-lost',
  'woke-up',
  'woken',
  'worktree',
]);
export type NoticeCode = z.infer<typeof NoticeCode>;

/**
 * What let a tool call run, as Claude Code tells it. `mode`: its permission mode. `classifier`: the safety check of auto mode.
 * `parts`: each part of a command was allowed, by a rule or because it only reads; it does not tell which.
 * `other`: something else of its own, such as a command in the sandbox or a tool that only reads.
 */
export const RanBy = z.enum(['person', 'rule', 'parts', 'hook', 'mode', 'classifier', 'other']);
export type RanBy = z.infer<typeof RanBy>;

/** A tool call whose input a hook changed, with the input that took the place of Claude's. */
export const ChangedCall = z.object({
  toolUseId: z.string(),
  input: ToolInput,
  /** The hook's command; null if Claude Code does not tell. */
  hook: z.string().nullable(),
});
export type ChangedCall = z.infer<typeof ChangedCall>;

/** One thing that happened in a session, as a person reads it. */
export const TranscriptEntry = z.discriminatedUnion('kind', [
  z.object({
    ...base,
    kind: z.literal('user'),
    text: z.string(),
    messageId: MessageId.nullable(),
    by: z.string().nullable(),
    attachments: z.array(AttachmentInfo).default([]),
  }),
  z.object({ ...base, kind: z.literal('text'), text: z.string(), blockId: z.string() }),
  z.object({ ...base, kind: z.literal('thinking'), text: z.string(), blockId: z.string() }),
  z.object({ ...base, kind: z.literal('tool-use'), toolUseId: z.string(), toolName: z.string(), input: ToolInput }),
  z.object({
    ...base,
    kind: z.literal('tool-result'),
    toolUseId: z.string(),
    isError: z.boolean(),
    text: z.string(),
    /** An interrupt ended the call: `before` it ran, or while it was `running`. Left out for all others. */
    stopped: z.enum(['before', 'running']).optional(),
    /** `hook`: a hook in a settings file allowed the call, so nobody was asked. */
    allowedBy: z.literal('hook').nullable().default(null),
    /** What let the call run; left out if Claude Code does not tell. */
    ranBy: RanBy.optional(),
    /** Set if the sandbox blocked something; null otherwise. */
    sandboxFailure: SandboxFailure.nullable().default(null),
  }),
  z.object({ ...base, kind: z.literal('decision'), decision: Decision }),
  z.object({
    ...base,
    kind: z.literal('turn-end'),
    outcome: z.enum(['succeeded', 'failed', 'interrupted']),
    message: z.string().nullable(),
    durationMs: z.number().nullable(),
    /** For this turn only; null if the CLI did not report it. */
    costUsd: z.number().nullable(),
  }),
  z.object({
    ...base,
    kind: z.literal('notice'),
    level: z.enum(['info', 'warning', 'error']),
    /** A `NoticeCode`; another Callboard, older or newer, may have stored one that is not in that list. */
    code: z.string(),
    text: z.string(),
    /** With `input-changed`, if the call is known. Of several for one call, the newest tells what ran. */
    changedCall: ChangedCall.optional(),
  }),
  /** A line of an unknown type, stored and shown as it came. */
  z.object({ ...base, kind: z.literal('unknown'), raw: z.unknown() }),
]);
export type TranscriptEntry = z.infer<typeof TranscriptEntry>;

type WithoutLocation<E> = E extends unknown ? Omit<E, 'index' | 'stageId' | 'at'> : never;
type WithKnownCode<E> = E extends { kind: 'notice' } ? Omit<E, 'code'> & { code: NoticeCode } : E;
/** An entry before the store assigned its position. */
export type NewTranscriptEntry = WithKnownCode<WithoutLocation<TranscriptEntry>>;
