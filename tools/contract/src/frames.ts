import { z } from 'zod';
import { BoardNotices, BoardView } from './board.ts';
import { type CommandType, commands } from './commands.ts';
import { SessionNowUpdate, TextDelta } from './events.ts';
import { Idempotency } from './http.ts';
import { Actor, Credential, Peer } from './logins.ts';
import { CommandError } from './problems.ts';

/** Raised with each incompatible change to the frames; checked on connect. */
export const PROTOCOL_VERSION = 2;

/**
 * The frame around a command. A frame with an `id` gets a reply. The checked `credential` says who sends it. Without one,
 * `actor` does: for a program inside the orchestrator's process.
 */
export const CommandFrame = z.looseObject({
  type: z.enum(Object.keys(commands) as [CommandType, ...CommandType[]]),
  id: z.string().optional(),
  actor: Actor.optional(),
  credential: Credential.optional(),
  /** The connection that the command came over, if it came straight from a program that may be on this machine. */
  peer: Peer.optional(),
  /** Sent again with the same key, it is executed once. */
  idempotency: Idempotency.optional(),
});
export type CommandFrame = z.infer<typeof CommandFrame>;

/** Returns an event's name on the WebSocket: `approval_requested` for `approval-requested`. */
export const wireName = (type: string): string => type.replaceAll('-', '_');
/** Returns the event's name for its name on the WebSocket. */
export const eventName = (wire: string): string => wire.replaceAll('_', '-');

export const InitFrame = z.object({
  type: z.literal('init'),
  protocol: z.int(),
  version: z.string(),
  seq: z.int().nonnegative(),
  data: BoardView,
});
export const ReplyFrame = z.discriminatedUnion('ok', [
  z.object({ type: z.literal('reply'), id: z.string(), ok: z.literal(true), data: z.unknown() }),
  z.object({ type: z.literal('reply'), id: z.string(), ok: z.literal(false), error: CommandError }),
]);
export const TextDeltaFrame = z.object({ type: z.literal('text_delta'), data: TextDelta });
export const SessionNowFrame = z.object({ type: z.literal('session_now'), data: SessionNowUpdate });
/** The board's `warnings` or `paused` have changed. Has no `seq`, since neither is stored. */
export const NoticesFrame = z.object({ type: z.literal('notices_updated'), data: BoardNotices });
/** An event on the wire. `type` is its wire name; `data` is parsed once the event type is known. */
export const EventFrame = z.object({
  type: z.string(),
  seq: z.int().positive(),
  at: z.iso.datetime(),
  data: z.unknown(),
});

export type InitFrame = z.infer<typeof InitFrame>;
export type ReplyFrame = z.infer<typeof ReplyFrame>;
