import { z } from 'zod';
import { type CommandInput, type CommandReply, commands } from '../commands.ts';
import { type CallDeps, type CallOptions, type Calls, createCalls, parsed } from './call.ts';
import { type EventStreamOptions, readEventStream } from './event-stream.ts';
import { type Route, type RoutedCommand, routes } from './routes.ts';
import type { RawMessage } from './sse-reader.ts';

export type HttpClientOptions = CallDeps;

/** Callboard over REST, one request at a time. Callboard's pages use it, and the HTTP transport is built on it. */
export interface HttpClient {
  /**
   * Sends a command and resolves with its reply, which is checked with its schema. The input is typed; the server validates
   * it. A command is never sent twice.
   * @throws TransportError, or the signal's reason; an aborted command may have been executed
   */
  command<T extends RoutedCommand>(
    type: T,
    input: CommandInput<T> & object,
    options?: CallOptions,
  ): Promise<CommandReply<T>>;
  /** Sends a request to a route that is no command. Returns the response, with any 2xx status; throws as `command`. */
  call: Calls['call'];
  /** Downloads a file completely; throws as `command`, also if the download breaks off. */
  file(route: Route, fields: object, signal?: AbortSignal): Promise<Blob>;
  /** Yields the messages of one event stream until its connection ends. */
  stream(options: EventStreamOptions): AsyncGenerator<RawMessage, void>;
}

/** Creates a client of the Callboard at an origin. Needs a platform with `fetch`. */
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

/** Returns a function that sends commands without checking their input. */
export function createCommand({ call, read, unreadable }: Calls) {
  return async <T extends RoutedCommand>(type: T, input: object, options?: CallOptions): Promise<CommandReply<T>> => {
    const response = await call(routes[type], input, options);
    const reply = commands[type].reply.safeParse(parsed(await read(response.text(), options?.signal)));
    if (reply.success) return reply.data as CommandReply<T>; // the schema was looked up by T
    throw unreadable(response.status, z.prettifyError(reply.error));
  };
}
