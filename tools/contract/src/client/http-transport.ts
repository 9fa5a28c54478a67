import type { CommandInput, CommandReply } from '../commands.ts';
import type { StageId } from '../ids.ts';
import { createCall, readJson } from './call.ts';
import { checkedInput, checkedReply } from './checks.ts';
import { httpEvents } from './http-events.ts';
import { routes, toRequest } from './routes.ts';
import { type ClientCommand, type Transport, TransportError } from './transport.ts';

export interface HttpTransportOptions {
  /** Where Callboard is: `http://127.0.0.1:3100`. */
  origin: string;
  /** An API token. A page of Callboard's own has none: it gives a `fetch` that proves the page. */
  token?: string;
  /** Instead of the platform's own. */
  fetch?: typeof fetch;
  /** A stream that says nothing for this long, not even a heartbeat, is opened anew. */
  silenceMs?: number;
  /** The longest pause between two attempts to open a stream. */
  maxPauseMs?: number;
}

/** Callboard over REST and server-sent events, in browsers and in Node. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { silenceMs = 45_000, maxPauseMs = 2_000 } = options;
  const call = createCall(options);
  const openStreams = new Set<string>();
  let watched: readonly StageId[] = [];

  /** One after the other, each with the newest wish, so that an older one cannot arrive last. */
  let telling: Promise<unknown> = Promise.resolve();
  function tellStream(streamId: string, signal?: AbortSignal): Promise<void> {
    const tell = () => call('PUT', `/api/events/${streamId}/watch`, { body: { stageIds: watched }, signal });
    const told = telling.then(tell).then(() => undefined, unlessGone);
    telling = told.catch(() => undefined);
    return told;
  }

  async function command<T extends ClientCommand>(type: T, given: CommandInput<T>, signal?: AbortSignal) {
    const input = checkedInput(type, given);
    if (type === 'watch') {
      watched = (input as CommandInput<'watch'>).stageIds; // T is 'watch'
      await Promise.all([...openStreams].map((streamId) => tellStream(streamId, signal)));
      return {} as CommandReply<T>;
    }
    const route = routes[type as Exclude<T, 'watch'>];
    const { url, body } = toRequest(route, input);
    const response = await call(route.method, url, { body, signal });
    return checkedReply(type, await readJson(response, signal), 'unreadable');
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
        onOpen(streamId) {
          openStreams.add(streamId);
          // What cannot be told now is told to the next stream: this one ends for the same reason.
          if (watched.length > 0) void tellStream(streamId, signal).catch(() => undefined);
        },
        onEnd: (streamId) => void openStreams.delete(streamId),
      }),
  };
}

/** A stream that has ended needs nothing: the one that follows is told when it begins. */
function unlessGone(error: unknown): void {
  if (!(error instanceof TransportError) || error.code !== 'not_found') throw error;
}
