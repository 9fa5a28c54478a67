import { randomUUID } from 'node:crypto';
import { type LoggedRequest, prompt, type Script } from '@callboard/scripted-model';
import { CanUseTool } from '../claude/wire/control.ts';
import type { Frame } from '../claude/wire/frames.ts';
import { Lifecycle } from '../claude/wire/messages.ts';
import { OutboxBody } from '../store/records.ts';
import type { TestLaunch } from './test-launch.ts';

type Response = Extract<Frame, { kind: 'response' }>;

/** A request for permission, as far as the promises use it. */
interface Asked {
  requestId: string;
  toolName: string;
  input: Record<string, unknown>;
}

/**
 * What one promise does with a launch, and what it can see of it. Everything is about what happened since the conversation
 * was created. Every wait ends with the signal.
 */
export interface TestConversation extends Transcript {
  readonly launch: TestLaunch;
  /** Sends a message with the model's script for it; resolves with the message's uuid. */
  say(steps: Script['steps'], uuid?: string): Promise<string>;
  /** Sends a message with exactly this text; resolves with its uuid. */
  sayText(text: string, uuid?: string): Promise<string>;
  /** Resolves with the next request for permission. */
  asked(): Promise<Asked>;
  /** Answers a request for permission; resolves with the body that was sent. */
  answer(asked: Asked, response: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Sends a control request; resolves with the whole response. */
  control(request: { subtype: string; [field: string]: unknown }): Promise<Record<string, unknown>>;
  /** Resolves with the next end of a turn. */
  result(): Promise<Record<string, unknown>>;
  /** Resolves with what `find` returns, once it returns something. */
  until<T>(what: string, find: () => T | undefined): Promise<T>;
  /** Resolves with the next request to the model, side requests excluded. */
  modelAsked(): Promise<LoggedRequest>;
}

/** What happened since a moment, on the wire and at the model. */
interface Transcript {
  /** The printed frames. */
  frames(): Frame[];
  /** The printed messages of a type. */
  messages(type: string, subtype?: string): Record<string, unknown>[];
  /** The printed response with that id: a reply, or the echo of an answer. */
  responseTo(id: string): Response | undefined;
  /** The reported states of a message. */
  lifecycleOf(uuid: string): string[];
  /** The requests to the model, side requests excluded. */
  modelRequests(): LoggedRequest[];
}

function transcriptOf(launch: TestLaunch, requests: readonly LoggedRequest[]): Transcript {
  const firstFrame = launch.frames.length;
  const firstRequest = requests.length;
  const frames = () => launch.frames.slice(firstFrame);

  function messages(type: string, subtype?: string): Record<string, unknown>[] {
    return frames().flatMap((frame) =>
      frame.kind === 'message' && frame.type === type && (subtype === undefined || frame.message.subtype === subtype)
        ? [frame.message]
        : [],
    );
  }

  return {
    frames,
    messages,
    responseTo: (id) =>
      frames().find((frame): frame is Response => frame.kind === 'response' && frame.requestId === id),
    lifecycleOf: (uuid) =>
      messages('command_lifecycle').flatMap((message) => {
        const { data } = Lifecycle.safeParse(message);
        return data?.command_uuid === uuid ? [data.state] : [];
      }),
    modelRequests: () => requests.slice(firstRequest).filter(({ kind }) => kind !== 'side'),
  };
}

export function createTestConversation(
  launch: TestLaunch,
  requests: readonly LoggedRequest[],
  signal: AbortSignal,
): TestConversation {
  const transcript = transcriptOf(launch, requests);
  const { frames, messages, modelRequests, responseTo } = transcript;
  const seen = new Set<string>();
  const counts = { results: 0, modelRequests: 0 };
  const until = <T>(what: string, find: () => T | undefined) => launch.until(what, find, signal);

  async function sayText(text: string, uuid: string = randomUUID()): Promise<string> {
    await launch.write({ wireId: uuid, body: OutboxBody.parse({ kind: 'message', text, entered: false }) });
    return uuid;
  }

  return {
    ...transcript,
    launch,
    until,
    sayText,
    say: (steps, uuid) => sayText(prompt({ steps }, 'A message of `callboard doctor`.'), uuid),

    asked: () =>
      until('a request for permission', () => {
        const next = frames().find((frame) => frame.kind === 'request' && !seen.has(frame.requestId));
        if (next?.kind !== 'request') return undefined;
        seen.add(next.requestId);
        return parseAsked(next);
      }),

    async answer({ requestId }, response) {
      const body = OutboxBody.parse({ kind: 'answer', response: { subtype: 'success', response } });
      await launch.write({ wireId: requestId, body });
      return { subtype: 'success', response, request_id: requestId };
    },

    async control(request) {
      const id = randomUUID();
      await launch.write({ wireId: id, body: OutboxBody.parse({ kind: 'control', request }) });
      const reply = await until(`the reply to ${request.subtype}`, () => responseTo(id));
      if (!reply.ok) throw new Error(`it refused ${request.subtype}: ${String(reply.response.error)}`);
      return reply.response;
    },

    async result() {
      const result = await until('the end of the turn', () => messages('result')[counts.results]);
      counts.results += 1;
      return result;
    },

    async modelAsked() {
      const request = await until('a request to the model', () => modelRequests()[counts.modelRequests]);
      counts.modelRequests += 1;
      return request;
    },
  };
}

function parseAsked({ requestId, subtype, request }: Extract<Frame, { kind: 'request' }>): Asked {
  const parsed = CanUseTool.safeParse(request);
  if (!parsed.success || subtype !== 'can_use_tool')
    throw new Error(`it asked in a way that Callboard does not understand ("${subtype}")`);
  return { requestId, toolName: parsed.data.tool_name, input: parsed.data.input };
}
