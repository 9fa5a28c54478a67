import { z } from 'zod';
import { BoardCounts, BoardNotices } from './board.ts';
import { SessionNowUpdate, TextDelta } from './events.ts';

/** How late the event loop of a process reached its timers in the last 30 to 60 seconds. */
export const LoopDelay = z.object({ p50Ms: z.number(), p99Ms: z.number(), maxMs: z.number() });
export type LoopDelay = z.infer<typeof LoopDelay>;

/**
 * A UUID of the sender's choice, with a request that changes something. The same request sent again under it is executed once, and gets
 * the reply of the first, as long as the orchestrator remembers it.
 */
export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key';
/**
 * With an `Idempotency-Key`: the milliseconds since the first attempt whose outcome the sender does not know. An orchestrator that
 * does not remember the key, and has not run for so long, refuses with `no_confirmation` instead of doing it a second time.
 */
export const IDEMPOTENCY_AGE_HEADER = 'idempotency-age';

/** What makes a command that is sent again the same command. */
export const Idempotency = z.object({
  key: z.uuid(),
  /** As `Idempotency-Age`; null if all attempts before certainly did nothing. */
  unknownForMs: z.number().nonnegative().nullable().default(null),
});
export type Idempotency = z.infer<typeof Idempotency>;

/** Whether the web server can relay commands. */
export const OrchestratorStatus = z.enum(['ready', 'unreachable']);
export type OrchestratorStatus = z.infer<typeof OrchestratorStatus>;

/** The data of events that are neither stored nor replayed. */
export const streamEventData = {
  /**
   * The first event of every stream: its id, for `watch`, the number after which it continues, and how often it has a heartbeat
   * at least.
   */
  stream: z.object({ streamId: z.uuid(), seq: z.int().nonnegative(), heartbeatMs: z.int().positive().optional() }),
  /** Second on every stream, and on every change. */
  'orchestrator-status': z.object({ status: OrchestratorStatus }),
  /** Events before `seq` cannot be replayed: reload the board. The stream continues after `seq`. */
  resync: z.object({ seq: z.int().nonnegative() }),
  /** Third on every stream, and on every change: the current `warnings` and `paused` of the board. */
  'notices-updated': BoardNotices,
  /** What a session does this moment, finer than its `now` says. */
  'session-now': SessionNowUpdate,
  /** Live text of the watched stages. */
  'text-delta': TextDelta,
} as const;

export type StreamEventType = keyof typeof streamEventData;
export type StreamEventData<T extends StreamEventType> = z.infer<(typeof streamEventData)[T]>;

/** What the orchestrator knows of its health. */
export const HealthFigures = z.object({
  counts: BoardCounts,
  loopDelay: LoopDelay,
  /** Why nothing can be stored, in words, so that commands are refused; null while it can. */
  storeTrouble: z.string().nullable(),
});

/** The body of `GET /api/health`. Without a login it has only the status. */
export const Health = z.object({
  status: z.enum(['ok', 'starting']),
  version: z.string().optional(),
  protocol: z.int().optional(),
  orchestrator: z
    .object({ status: OrchestratorStatus, version: z.string().nullable(), seq: z.int().nullable() })
    .optional(),
  /** Counts of the board; missing while the orchestrator does not answer. */
  counts: BoardCounts.optional(),
  /** As the orchestrator knows it; missing while that does not answer. */
  storeTrouble: HealthFigures.shape.storeTrouble.optional(),
  /** The event loop delay of the two servers; that of the orchestrator is missing while it does not answer. */
  loopDelay: z.object({ webServer: LoopDelay, orchestrator: LoopDelay.optional() }).optional(),
});
export type Health = z.infer<typeof Health>;
