import { z } from 'zod';
import { type CommandInput, type CommandReply, commands } from '../commands.ts';
import { type CallOptions, type CallParts, type Calls, createCalls, parsed } from './call.ts';
import { type EventStreamOptions, readEventStream } from './event-stream.ts';
import { type Route, type RoutedCommand, routes } from './routes.ts';
import type { RawMessage } from './sse-reader.ts';

export type HttpClientOptions = CallParts;

/** Callboard over REST, one request at a time: what pages of Callboard use, and what the transport over HTTP is made of. */
export interface HttpClient {
  /**
   * Gives a command and waits for its reply, which is read with its schema. The input is as its type says; the server
   * has the last word on it. Nothing is ever given twice.
   * @throws TransportError, or the signal's reason; a command whose waiting was ended may have been carried out
   */
  command<T extends RoutedCommand>(
    type: T,
    input: CommandInput<T> & object,
    options?: CallOptions,
  ): Promise<CommandReply<T>>;
  /** One request to a route that is no command. Its response, of any 2xx status; throws as `command` does. */
  call: Calls['call'];
  /** The content of a file that the server makes, whole; throws as `command` does, also where it breaks off. */
  file(route: Route, fields: object, signal?: AbortSignal): Promise<Blob>;
  /** The messages of one event stream, as they come, until its connection ends. */
  stream(options: EventStreamOptions): AsyncGenerator<RawMessage, void>;
}

/** A client of the Callboard at an origin. Needs a platform with `fetch`. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const calls = createCalls(options);
  return {
    command: createCommand(calls),
    call: calls.call,
    file: async (route, fields, signal) => {
      const response = await calls.call(route, fields, { signal });
      return calls.read(response.blob(), signal);
    },
    stream: (given) => readEventStream(calls.call, given),
  };
}

/** Gives a command whose input was read, or need not be. */
export function createCommand({ call, read, unreadable }: Calls) {
  return async <T extends RoutedCommand>(type: T, input: object, options?: CallOptions): Promise<CommandReply<T>> => {
    const response = await call(routes[type], input, options);
    const reply = commands[type].reply.safeParse(parsed(await read(response.text(), options?.signal)));
    if (reply.success) return reply.data as CommandReply<T>; // the schema was looked up by T
    throw unreadable(response.status, z.prettifyError(reply.error));
  };
}
