import type { CommandInput, CommandReply } from '../commands.ts';
import type { StageId } from '../ids.ts';
import { type CallParts, createCalls } from './call.ts';
import { checkedInput } from './checks.ts';
import { createCommand } from './http-client.ts';
import { httpEvents } from './http-events.ts';
import { serviceRoutes } from './routes.ts';
import { createStreamMoved, isNoStream } from './stream-moved.ts';
import type { ClientCommand, Transport } from './transport.ts';

export interface HttpTransportOptions extends CallParts {
  /** A stream without data for this long, not even a heartbeat, is reopened. */
  silenceMs?: number;
  /** The longest pause between two attempts to open a stream. */
  maxPauseMs?: number;
}

/** Creates a transport over REST and server-sent events, for browsers and Node. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { silenceMs, maxPauseMs = 2_000 } = options;
  const calls = createCalls(options);
  const { call } = calls;
  const give = createCommand(calls);
  /** By the id of the stream: how it is opened anew. */
  const openStreams = new Map<string, () => void>();
  const hasMoved = createStreamMoved();
  let watched: readonly StageId[] = [];

  /** One after the other, each with the newest stages, so that an older request cannot arrive last. */
  let telling: Promise<unknown> = Promise.resolve();
  function tellStream(streamId: string, signal?: AbortSignal): Promise<void> {
    const tell = () => call(serviceRoutes.watch, { streamId, stageIds: watched }, { signal });
    const told = telling.then(tell).then(
      () => undefined,
      (error: unknown) => gone(streamId, error),
    );
    telling = told.catch(() => undefined);
    return told;
  }

  /** An ended stream needs nothing: the next one is told when it begins. */
  function gone(streamId: string, error: unknown): void {
    if (!isNoStream(error)) throw error;
    const reopen = openStreams.get(streamId);
    if (reopen !== undefined && hasMoved(error)) reopen();
  }

  async function command<T extends ClientCommand>(type: T, given: CommandInput<T>, signal?: AbortSignal) {
    const input = checkedInput(type, given);
    if (type === 'watch') {
      watched = (input as CommandInput<'watch'>).stageIds; // T is 'watch'
      await Promise.all([...openStreams.keys()].map((streamId) => tellStream(streamId, signal)));
      return {} as CommandReply<T>;
    }
    return give(type as Exclude<T, 'watch'>, input, { signal });
  }

  return {
    command,
    events: ({ since }, signal) =>
      httpEvents({
        call,
        since: since ?? null,
        signal,
        silenceMs,
        maxPauseMs,
        onOpen(streamId, reopen) {
          openStreams.set(streamId, reopen);
          // On failure the next stream is told: this one ends for the same reason.
          if (watched.length > 0) void tellStream(streamId, signal).catch(() => undefined);
        },
        onEnd: (streamId) => void openStreams.delete(streamId),
      }),
  };
}
