import type { CommandInput, CommandReply } from '../commands.ts';
import type { BoardEvent } from '../events.ts';
import type { StreamEventData, StreamEventType } from '../http.ts';
import type { ProblemCode } from '../problems.ts';
import type { Decision } from '../requests.ts';
import type { RoutedCommand } from './routes.ts';

/** The commands that a client may give. */
export type ClientCommand = RoutedCommand | 'watch';

type Passing = Exclude<StreamEventType, 'stream'>;

/**
 * A stored event with its number, or one that is not stored: `resync` (reload the board; what follows comes after its `seq`),
 * `orchestrator-status` (the first item, and on every change), or a `text-delta` of a watched stage.
 */
export type StreamItem = BoardEvent | { [T in Passing]: { type: T; data: StreamEventData<T> } }[Passing];

export interface EventOptions {
  /** The number of the last known event, for example `seq` of a board. Without it, events from now on. */
  since?: number;
}

/**
 * Callboard for programs: over HTTP or inside the orchestrator's process, with the same promises.
 *
 * @example
 * const board = await transport.command('get_board', {});
 * for await (const item of transport.events({ since: board.seq }, signal)) show(item);
 */
export interface Transport {
  /**
   * Sends a command and resolves with its reply. Rejects with `TransportError`, or with the signal's reason. A command is never
   * executed twice; an aborted one may have been executed. `watch` applies to all event streams of this transport, including
   * those that are opened later.
   */
  command<T extends ClientCommand>(type: T, input: CommandInput<T>, signal?: AbortSignal): Promise<CommandReply<T>>;
  /**
   * Yields each stored event once, by ascending `seq`, across lost connections. Begins with the first `next()`, ends when
   * the signal aborts, and throws `TransportError` if retrying does not help (no login).
   */
  events(options: EventOptions, signal: AbortSignal): AsyncIterable<StreamItem>;
}

/** `network`: no answer came, and the effect is unknown. `unreadable`: the answer is not Callboard's. */
export type TransportErrorCode = ProblemCode | 'network' | 'unreadable';

const TRANSIENT: readonly number[] = [429, 502, 503];

/** A command failed. `message` says what happened and what to do. */
export class TransportError extends Error {
  /** The HTTP status, or the status of the code; 0 without an answer. */
  readonly status: number;
  readonly code: TransportErrorCode;
  /** With a conflict: the decision that stands. */
  readonly decision: Decision | null;

  constructor(
    status: number,
    code: TransportErrorCode,
    message: string,
    { decision = null, ...options }: { decision?: Decision | null; cause?: unknown } = {},
  ) {
    super(message, options);
    this.name = 'TransportError';
    this.status = status;
    this.code = code;
    this.decision = decision;
  }

  /**
   * Whether the same request may succeed later: the server is unreachable, not ready (502, 503) or limits this login (429), or
   * the page must prove itself again.
   */
  get isTransient(): boolean {
    return this.code === 'network' || this.code === 'page_not_proven' || TRANSIENT.includes(this.status);
  }
}
