import {
  type BoardView,
  type CommandInput,
  type CommandReply,
  type EventData,
  type EventType,
  type Problem,
  type ProblemCode,
  problems,
  type StreamEventData,
  type StreamEventType,
} from '@callboard/contract';
import { pathFields, type Route, type RoutedCommand, routes, serviceRoutes } from '@callboard/contract/client';
import { HttpResponse, http, type PathParams } from 'msw';
import { setupServer } from 'msw/node';
import { z } from 'zod';

type Answer<T extends RoutedCommand> = (
  input: CommandInput<T>,
) => CommandReply<T> | Response | Promise<CommandReply<T> | Response>;
type Answers = { [T in RoutedCommand]?: Answer<T> };

/** What a page under test talks to: the REST API and the event stream, answered in this process. */
export interface PageServer {
  /** Sets the answers of commands. A command without an answer fails the test that sends it. */
  answer(answers: Answers): void;
  /** Sends an event to the page, with the next `seq`. */
  emit<T extends EventType>(type: T, data: EventData<T>): void;
  /** Sends an event that is not stored. */
  pass<T extends StreamEventType>(type: T, data: StreamEventData<T>): void;
  /** Ends every event stream; the page opens another one. */
  cutStreams(): void;
  /** The commands received, oldest first, without reads of the board. */
  received: { command: RoutedCommand; input: unknown }[];
  /** Which stages' text the page wants, and on which of its streams (1 is the first); oldest first. */
  watched: { stream: number; stageIds: string[] }[];
  /** Stands for another web server from now on, which does not know the streams that are open. Returns how to stand for the former. */
  change(): () => void;
  /** Refuses what is being answered and all that comes from now on. */
  refuseAll(): void;
  /** How many commands are being answered. */
  underWay(): number;
  close(): void;
}

const STREAM_ID = '00000000-0000-7000-8000-00000000000';
const Watch = z.object({ stageIds: z.array(z.string()) });
const encoder = new TextEncoder();

/** Returns a refusal as the server sends it. */
export const problem = (code: ProblemCode, detail: string): Response => {
  const { status } = problems[code];
  const body: Problem = { type: 'about:blank', title: code, status, code, detail };
  return HttpResponse.json(body, { status });
};

/** The event streams of a page, and which stages it watches on them. */
function createStreams(firstSeq: number) {
  const open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const emitted: { type: string; data: unknown; seq: number }[] = [];
  const watched: PageServer['watched'] = [];
  let seq = firstSeq;
  let opened = 0;
  /** The streams up to this one are another web server's. */
  let elsewhere = 0;

  function stream({ request }: { request: Request }): Response {
    const since = Number(request.headers.get('last-event-id') ?? seq);
    opened += 1;
    const streamId = `${STREAM_ID}${opened}`;
    let own: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        open.add(controller);
        send(controller, 'stream', { streamId, seq });
        send(controller, 'orchestrator-status', { status: 'ready' });
        for (const event of emitted) if (event.seq > since) send(controller, event.type, event.data, event.seq);
      },
      cancel: () => void (own !== undefined && open.delete(own)),
    });
    return new HttpResponse(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  async function watch(request: Request, streamId: string): Promise<Response> {
    const nth = Number(streamId.slice(STREAM_ID.length));
    if (nth <= elsewhere) return problem('not_found', `There is no open event stream ${streamId}.`);
    watched.push({ stream: nth, ...Watch.parse(await request.json()) });
    return HttpResponse.json({});
  }

  const handlers = [
    http.get(`*${serviceRoutes.events.path}`, stream),
    http.put(`*${serviceRoutes.watch.path}`, ({ request, params }) => watch(request, String(params.streamId))),
  ];
  return {
    handlers,
    watched,
    emit(type: string, data: unknown) {
      seq += 1;
      emitted.push({ type, data, seq });
      for (const controller of open) send(controller, type, data, seq);
    },
    pass(type: string, data: unknown) {
      for (const controller of open) send(controller, type, data);
    },
    change() {
      const before = elsewhere;
      elsewhere = opened;
      return () => {
        elsewhere = before;
      };
    },
    cutStreams() {
      for (const controller of open) controller.close();
      open.clear();
    },
  };
}

/** Starts a server for one page. `board` is the board at its first load. */
export function startPageServer(board: () => BoardView): PageServer {
  const received: PageServer['received'] = [];
  const streams = createStreams(board().seq);
  let answers: Answers = {};
  let underWay = 0;
  const over = Promise.withResolvers<void>();

  const handlers = Object.entries(routes).map(([command, route]) => handle(command as RoutedCommand, route)); // its keys
  function handle(command: RoutedCommand, route: Route) {
    const method = route.method.toLowerCase() as Lowercase<Route['method']>; // the same five words
    return http[method](`*${route.path}`, async (given) => {
      underWay += 1;
      try {
        return await Promise.race([over.promise.then(() => problem('not_found', 'The test is over.')), reply(given)]);
      } finally {
        underWay -= 1;
      }
    });
    async function reply({ request, params }: { request: Request; params: PathParams }): Promise<Response> {
      // Every page says it, whatever the test is about, also one that is just being closed, with its body gone.
      if (command === 'tell_looking') return HttpResponse.json({});
      const named = Object.fromEntries(pathFields(route).map((name) => [name, String(params[name])]));
      const query = Object.fromEntries(new URL(request.url).searchParams);
      const text = await request.text();
      const body: unknown = text === '' ? {} : JSON.parse(text);
      const input = { ...query, ...named, ...(route.body === undefined ? Object(body) : { [route.body]: body }) };
      if (command === 'get_board') return HttpResponse.json(board());
      received.push({ command, input });
      const answer = answers[command] as ((given: unknown) => object) | undefined; // its own input, from its own route
      if (answer === undefined) return problem('internal', `The test has no answer to ${command}.`);
      const given = await answer(input);
      return given instanceof Response ? given : HttpResponse.json(given);
    }
  }
  const server = setupServer(
    http.get(`*${serviceRoutes.loginNonce.path}`, () => HttpResponse.json({ nonce: 'a nonce' })),
    http.post(`*${serviceRoutes.loginProof.path}`, () => HttpResponse.json({ token: 'a token', loginId: 'login-1' })),
    ...streams.handlers,
    ...handlers,
  );
  server.listen({ onUnhandledFrame: 'error' });
  return {
    answer(more) {
      answers = { ...answers, ...more };
    },
    emit: streams.emit,
    pass: streams.pass,
    received,
    watched: streams.watched,
    change: streams.change,
    cutStreams: streams.cutStreams,
    refuseAll: over.resolve,
    underWay: () => underWay,
    close() {
      streams.cutStreams();
      server.close();
    },
  };
}

function send(to: ReadableStreamDefaultController<Uint8Array>, event: string, data: unknown, seq?: number): void {
  const id = seq === undefined ? '' : `id: ${seq}\nat: ${new Date().toISOString()}\n`;
  to.enqueue(encoder.encode(`event: ${event}\n${id}data: ${JSON.stringify(data)}\n\n`));
}
