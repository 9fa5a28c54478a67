import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { type EventStreamOptions, type RawMessage, readEventStream } from './event-stream.ts';
import { TransportError } from './transport.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Asked {
  since: number | null;
  wait: number | null;
  send(...texts: string[]): void;
  end(): void;
  isOver(): boolean;
}

const HEARTBEAT_MS = 2_000;
const begin = (seq: number) =>
  `event: stream\ndata: {"streamId":"00000000-0000-7000-8000-000000000000","seq":${seq},"heartbeatMs":${HEARTBEAT_MS}}\n\n`;
const event = (seq: number) => `event: mode-changed\nid: ${seq}\ndata: {}\n\n`;

/** A server and what is on the way to it; `onAsk` answers each request. */
function connect(onAsk: (asked: Asked) => void, options: Partial<EventStreamOptions> = {}) {
  const asked: Asked[] = [];
  const messages: RawMessage[] = [];
  const told: string[] = [];
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const call: Parameters<typeof readEventStream>[0] = async (_route, fields, { signal, headers } = {}) => {
    const encoder = new TextEncoder();
    let isOver = false;
    let isAnswered = false;
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal?.addEventListener('abort', () => {
          reject(signal.reason);
          if (!isOver) controller.error(signal.reason);
          isOver = true;
        });
        const request: Asked = {
          since: headers?.['last-event-id'] === undefined ? null : Number(headers['last-event-id']),
          wait: 'wait' in fields ? Number(fields.wait) : null,
          send(...texts) {
            for (const text of texts) controller.enqueue(encoder.encode(text));
            if (!isAnswered) setTimeout(() => resolve(new Response(body)));
            isAnswered = true;
          },
          end() {
            controller.close();
            isOver = true;
          },
          isOver: () => isOver,
        };
        asked.push(request);
        queueMicrotask(() => onAsk(request));
      },
    });
    return promise;
  };
  const ended = (async () => {
    const stream = readEventStream(call, {
      since: 1,
      signal: over.signal,
      onOpen: () => told.push('open'),
      onStalled: (isStalled) => told.push(isStalled ? 'held up' : 'flowing'),
      ...options,
    });
    for await (const message of stream) messages.push(message);
  })().catch((error: unknown) => error);
  const seqs = () => messages.filter(({ id }) => id !== '').map(({ id }) => Number(id));
  return { asked, messages, told, seqs, ended };
}

/** Answers polls as a server with these events does. */
function answerPoll({ since, send, end }: Asked, newest: number): void {
  const from = since ?? newest;
  send(begin(from), ...Array.from({ length: Math.max(0, newest - from) }, (_, index) => event(from + index + 1)));
  end();
}

it('takes the stream alone while it flows', async () => {
  const { asked, told, seqs } = connect((each) => each.send(begin(1), event(2)));
  for (let ms = 0; ms < 60_000; ms += HEARTBEAT_MS) {
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    asked[0]?.send(': heartbeat\n\n');
  }
  expect(seqs()).toEqual([2]);
  expect(asked).toHaveLength(1);
  expect(told).toEqual(['open', 'flowing']);
});

it('polls while something on the way holds the stream back, says so, and gives each event once', async () => {
  let newest = 3;
  const { asked, told, seqs, messages } = connect((each) => {
    if (each.wait !== null) answerPoll(each, newest);
  });
  await vi.advanceTimersByTimeAsync(3_000);
  expect(seqs()).toEqual([2, 3]);
  expect(told).toEqual(['open']);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(told).toEqual(['open', 'held up']);
  newest = 5;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(seqs()).toEqual([2, 3, 4, 5]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toEqual(['open', 'held up']);
  expect(messages.filter(({ name }) => name === 'stream')).toEqual([]); // nobody can watch on a poll
  expect(asked.filter(({ wait, isOver }) => wait === null && !isOver()).length).toBeLessThan(2);
});

it('returns to the stream once it comes through, and not for one that was held back', async () => {
  let isOpen = false;
  const { asked, told, seqs } = connect((each) => {
    if (each.wait !== null) answerPoll(each, 3);
    else if (isOpen) each.send(begin(3));
  });
  await vi.advanceTimersByTimeAsync(6_000);
  const held = asked.findLast(({ wait }) => wait === null);
  held?.send(begin(1), event(2)); // it has filled the proxy's buffer
  await vi.advanceTimersByTimeAsync(500);
  expect(held?.isOver()).toBe(true);
  expect(told).toEqual(['open', 'held up']);

  isOpen = true;
  await vi.advanceTimersByTimeAsync(27_000);
  expect(told).toEqual(['open', 'held up', 'flowing']);
  asked.findLast(({ wait }) => wait === null)?.send(event(3), event(4));
  await vi.advanceTimersByTimeAsync(10);
  expect(seqs()).toEqual([2, 3, 4]);
});

it('is lost within two heartbeats of silence', async () => {
  const { told, ended } = connect((each) => each.send(begin(1)));
  await vi.advanceTimersByTimeAsync(2 * HEARTBEAT_MS + 1_000);
  expect(await ended).toMatchObject({ code: 'network', message: 'The event stream fell silent.' });
  expect(told).toEqual(['open', 'flowing']);
});

it('asks again and again while no answer comes, so that one goes out soon after the way is back', async () => {
  let isBack = false;
  const { asked, seqs, told } = connect(
    (each) => {
      if (!isBack) return;
      if (each.wait === null) each.send(begin(each.since ?? 0), event(2));
      else answerPoll(each, 2);
    },
    { isSuspect: true },
  );
  await vi.advanceTimersByTimeAsync(4_000);
  expect(asked.filter(({ isOver }) => !isOver()).length).toBeLessThanOrEqual(3); // a browser has six connections
  isBack = true;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(seqs()).toEqual([2]);
  expect(told).toEqual(['open', 'flowing']);
});

it('is lost when neither the stream nor a poll is answered', async () => {
  const { told, ended } = connect(() => undefined);
  await vi.advanceTimersByTimeAsync(7_000);
  expect(await ended).toMatchObject({ code: 'network' });
  expect(told).toEqual([]);
});

it('passes on a refusal of the stream, and of a poll', async () => {
  const refusal = new TransportError(401, 'not_logged_in', 'Log in.');
  const refused = readEventStream(() => Promise.reject(refusal), { since: 1, signal: new AbortController().signal });
  await expect(refused.next()).rejects.toBe(refusal);
});

it('begins with the newest event if none is known, also by polls', async () => {
  let newest = 7;
  const positions: number[] = [];
  const { seqs } = connect((each) => each.wait !== null && answerPoll(each, newest), {
    since: null,
    onPosition: (seq) => positions.push(seq),
  });
  await vi.advanceTimersByTimeAsync(3_000);
  newest = 8;
  await vi.advanceTimersByTimeAsync(3_000);
  expect([positions, seqs()]).toEqual([[7], [8]]);
});
