import type { CommandInput, CommandReply } from '../commands.ts';
import type { BoardEvent } from '../events.ts';
import type { StreamEventData, StreamEventType } from '../http.ts';
import type { ProblemCode } from '../problems.ts';
import type { Decision } from '../requests.ts';
import type { RoutedCommand } from './routes.ts';

/** What a client may ask for. */
export type ClientCommand = RoutedCommand | 'watch';

type Passing = Exclude<StreamEventType, 'stream'>;

/**
 * One thing that happened: a stored event with its number, or a notice that is not stored: `resync` (load the board
 * anew, what follows comes after its `seq`), `orchestrator-status` (the first item, and whenever it changes), or a
 * `text-delta` of a watched stage.
 */
export type StreamItem = BoardEvent | { [T in Passing]: { type: T; data: StreamEventData<T> } }[Passing];

export interface EventOptions {
  /** The number of the last event that is known, `seq` of a board for instance. Without it: what happens from now on. */
  since?: number;
}

/**
 * Callboard, to a program that uses it: over HTTP or within the orchestrator's own process, with the same promises.
 *
 * @example
 * const board = await transport.command('get_board', {});
 * for await (const item of transport.events({ since: board.seq }, signal)) show(item);
 */
export interface Transport {
  /**
   * Gives a command and waits for its reply. Rejects with `TransportError`, or with the signal's reason; nothing is
   * ever given twice, and a command whose waiting was ended may have been carried out. `watch` holds for all event
   * streams of this transport, those that are opened later included.
   */
  command<T extends ClientCommand>(type: T, input: CommandInput<T>, signal?: AbortSignal): Promise<CommandReply<T>>;
  /**
   * What happens, each stored event once and by ascending `seq`, across lost connections. Begins with the first
   * `next()`, ends when the signal aborts, and throws `TransportError` where trying again does not help (no login).
   */
  events(options: EventOptions, signal: AbortSignal): AsyncIterable<StreamItem>;
}

/** `network`: no answer came, nobody knows what was done. `unreadable`: an answer came that is not Callboard's. */
export type TransportErrorCode = ProblemCode | 'network' | 'unreadable';

const PASSING: readonly number[] = [429, 502, 503];

/** A command that did not succeed. `message` says in words what happened and what to do. */
export class TransportError extends Error {
  /** The HTTP status, or the one that the code stands for; 0 where no answer came. */
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
   * The same may succeed a little later: the server cannot be reached, is not ready (502, 503), has more to do than it
   * takes from one login (429), or wants the page to prove itself anew.
   */
  get isTransient(): boolean {
    return this.code === 'network' || this.code === 'page_not_proven' || PASSING.includes(this.status);
  }
}
