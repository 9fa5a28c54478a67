import { z } from 'zod';
import { BoardCounts, BoardNotices } from './board.ts';
import { TextDelta } from './events.ts';
import { LoopDelay } from './loop-delay.ts';

/** Whether the web server can pass commands on. */
export const OrchestratorStatus = z.enum(['ready', 'unreachable']);
export type OrchestratorStatus = z.infer<typeof OrchestratorStatus>;

/** The data of what an event stream carries beside the stored events: nothing of it is stored, or replayed. */
export const streamEventData = {
  /** The first of every stream: its id, for `watch`, and the number after which it goes on. */
  stream: z.object({ streamId: z.uuid(), seq: z.int().nonnegative() }),
  /** Second on every stream, and whenever it changes. */
  'orchestrator-status': z.object({ status: OrchestratorStatus }),
  /** What came before `seq` cannot be replayed: load the board anew. The stream goes on after `seq`. */
  resync: z.object({ seq: z.int().nonnegative() }),
  /** Third on every stream, and whenever it changes: `warnings` and `paused` of the board, as they are now. */
  'notices-updated': BoardNotices,
  /** Text while it is written, for the stages being watched. */
  'text-delta': TextDelta,
} as const;

export type StreamEventType = keyof typeof streamEventData;
export type StreamEventData<T extends StreamEventType> = z.infer<(typeof streamEventData)[T]>;

/** The body of `GET /api/health`. Without a login it has the status alone. */
export const Health = z.object({
  status: z.enum(['ok', 'starting']),
  version: z.string().optional(),
  protocol: z.int().optional(),
  orchestrator: z
    .object({ status: OrchestratorStatus, version: z.string().nullable(), seq: z.int().nullable() })
    .optional(),
  /** What is on the board; left out while the orchestrator does not answer. */
  counts: BoardCounts.optional(),
  /** How late the two servers come to what they have to do; that of the orchestrator is left out while it does not answer. */
  loopDelay: z.object({ webServer: LoopDelay, orchestrator: LoopDelay.optional() }).optional(),
});
export type Health = z.infer<typeof Health>;
