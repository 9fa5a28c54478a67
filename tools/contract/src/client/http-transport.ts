import type { CommandInput, CommandReply } from '../commands.ts';
import { type CallParts, createCalls } from './call.ts';
import { checkedInput } from './checks.ts';
import { createCommand } from './http-client.ts';
import { httpEvents } from './http-events.ts';
import { serviceRoutes } from './routes.ts';
import { createStreamWatch } from './stream-watch.ts';
import type { ClientCommand, Transport } from './transport.ts';

export interface HttpTransportOptions extends CallParts {
  /** A stream without data for this long, not even a heartbeat, is reopened. The default is two heartbeats. */
  silenceMs?: number;
  /** The longest pause between two attempts to open a stream. */
  maxPauseMs?: number;
}

/** Creates a transport over REST and server-sent events, for browsers and Node. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { silenceMs, maxPauseMs = 1_000 } = options;
  const calls = createCalls(options);
  const { call } = calls;
  const give = createCommand(calls);
  const watch = createStreamWatch({
    put: (streamId, stageIds, signal) => call(serviceRoutes.watch, { streamId, stageIds }, { signal }),
    maxPauseMs,
  });

  async function command<T extends ClientCommand>(type: T, given: CommandInput<T>, signal?: AbortSignal) {
    const input = checkedInput(type, given);
    if (type === 'watch') {
      await watch.want((input as CommandInput<'watch'>).stageIds, signal); // T is 'watch'
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
        onOpen: watch.opened,
        onEnd: watch.ended,
      }),
  };
}
