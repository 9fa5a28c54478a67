import { z } from 'zod';
import { BoardNotices, BoardView } from './board.ts';
import { type CommandType, commands } from './commands.ts';
import { TextDelta } from './events.ts';
import { Actor, Credential } from './logins.ts';
import { CommandError } from './problems.ts';

/** Raised when the two parts could no longer understand each other; checked on connect. */
export const PROTOCOL_VERSION = 2;

/**
 * The frame around a command. With an `id` it gets a reply. `credential` says who gives it, and is checked; without one
 * `actor` does, for a program in the orchestrator's own process.
 */
export const CommandFrame = z.looseObject({
  type: z.enum(Object.keys(commands) as [CommandType, ...CommandType[]]),
  id: z.string().optional(),
  actor: Actor.optional(),
  credential: Credential.optional(),
});
export type CommandFrame = z.infer<typeof CommandFrame>;

/** An event's name on the WebSocket: `approval_requested` for `approval-requested`. */
export const wireName = (type: string): string => type.replaceAll('-', '_');
/** The event's name for its name on the WebSocket. */
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
/** `warnings` and `paused` of the board have changed; without a number, since nothing of it is stored. */
export const NoticesFrame = z.object({ type: z.literal('notices_updated'), data: BoardNotices });
/** An event on the wire: `type` is its wire name; `data` is checked once the name is known. */
export const EventFrame = z.object({
  type: z.string(),
  seq: z.int().positive(),
  at: z.iso.datetime(),
  data: z.unknown(),
});

export type InitFrame = z.infer<typeof InitFrame>;
export type ReplyFrame = z.infer<typeof ReplyFrame>;
