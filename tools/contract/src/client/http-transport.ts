import { type CommandInput, type CommandReply, REPLY_LIMITS_MS, timeOf } from '../commands.ts';
import { type CallDeps, createCalls, FOR_PROGRAMS } from './call.ts';
import { checkedInput } from './checks.ts';
import { createCommand } from './http-client.ts';
import { httpEvents } from './http-events.ts';
import { idempotencyHeaders, resend } from './resend.ts';
import { routes, serviceRoutes } from './routes.ts';
import { createStreamWatch } from './stream-watch.ts';
import { type ClientCommand, type Transport, TransportError } from './transport.ts';

export interface HttpTransportOptions extends CallDeps {
  /** A stream without data for this long, not even a heartbeat, is reopened. The default is two heartbeats. */
  silenceMs?: number;
  /** The longest pause between two attempts to open a stream. */
  maxPauseMs?: number;
  /**
   * How long a command whose reply was lost is sent again, with an `Idempotency-Key`, under which it is executed once. By default it is
   * not sent again.
   */
  resendMs?: number;
}

const ATTEMPT_MS = 10_000;

/** Whether it creates something under an id of the sender's choice. */
const hasOwnId = (input: object): boolean => 'creationId' in input || ('message' in input && 'messageId' in input);

/** Creates a transport over REST and server-sent events, for browsers and Node. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { silenceMs, maxPauseMs = 1_000, resendMs = 0 } = options;
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
    const routed = type as Exclude<T, 'watch'>;
    if (resendMs === 0 || routes[routed].method === 'GET') return give(routed, input, { signal });
    const key = crypto.randomUUID();
    return resend(
      (attempt) => {
        const either = signal === undefined ? attempt.signal : AbortSignal.any([signal, attempt.signal]);
        // What has an id of its own is known by that, also after a restart of Callboard.
        const headers = hasOwnId(input) ? {} : idempotencyHeaders(key, attempt);
        return give(routed, input, { signal: either, headers });
      },
      {
        patienceMs: resendMs,
        heldMs: REPLY_LIMITS_MS[timeOf(type)],
        attemptMs: ATTEMPT_MS,
        unanswered: () => new TransportError(0, 'network', (options.text ?? FOR_PROGRAMS).unanswered),
      },
    );
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
