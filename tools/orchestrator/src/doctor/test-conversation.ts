import { randomUUID } from 'node:crypto';
import { type LoggedRequest, prompt, type Script } from '@callboard/scripted-model';
import { CanUseTool } from '../claude/wire/control.ts';
import type { Frame } from '../claude/wire/frames.ts';
import { Lifecycle } from '../claude/wire/messages.ts';
import { OutboxBody } from '../store/records.ts';
import type { TestLaunch } from './test-launch.ts';

/** A request for permission, as far as the promises look at it. */
interface Asked {
  requestId: string;
  toolName: string;
  input: Record<string, unknown>;
}

/** One promise's dealings with a trial: everything here is about what happened since it began, and ends with its signal. */
export interface TestConversation {
  /** Sends a message with the model's script for it; resolves with the message's uuid. */
  say(steps: Script['steps'], uuid?: string): Promise<string>;
  /** Sends text as it is. */
  sayText(text: string, uuid?: string): Promise<string>;
  /** The next request for permission that was not asked for before. */
  asked(): Promise<Asked>;
  /** Sends an answer to a request for permission; resolves with the body that went over the wire. */
  answer(asked: Asked, response: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Sends a control request; resolves with the whole response. */
  control(request: { subtype: string; [field: string]: unknown }): Promise<Record<string, unknown>>;
  /** The end of the turn. */
  result(): Promise<Record<string, unknown>>;
  /** The response of that id which it printed: a reply to us, or the echo of an answer of ours. */
  responseTo(id: string): Record<string, unknown> | undefined;
  /** What it printed since this began. */
  frames(): Frame[];
  /** Waits for what `look` finds. */
  until<T>(what: string, look: () => T | undefined): Promise<T>;
  /** The next question to the model, side questions left out. */
  modelAsked(): Promise<LoggedRequest>;
  /** What was told of a message by its uuid. */
  lifecycleOf(uuid: string): string[];
  /** Messages of a type since this began. */
  messages(type: string, subtype?: string): Record<string, unknown>[];
  /** Questions to the model since this began, side questions left out. */
  modelRequests(): LoggedRequest[];
  readonly trial: TestLaunch;
}

export function createTestConversation(
  trial: TestLaunch,
  requests: readonly LoggedRequest[],
  signal: AbortSignal,
): TestConversation {
  const firstFrame = trial.frames.length;
  const firstRequest = requests.length;
  const seen = new Set<string>();
  const counts = { results: 0, modelRequests: 0 };
  const frames = () => trial.frames.slice(firstFrame);
  const modelRequests = () => requests.slice(firstRequest).filter(({ kind }) => kind !== 'side');
  const until = <T>(what: string, look: () => T | undefined) => trial.until(what, look, signal);

  function messages(type: string, subtype?: string): Record<string, unknown>[] {
    return frames().flatMap((frame) =>
      frame.kind === 'message' && frame.type === type && (subtype === undefined || frame.message.subtype === subtype)
        ? [frame.message]
        : [],
    );
  }

  async function sayText(text: string, uuid: string = randomUUID()): Promise<string> {
    await trial.write({ wireId: uuid, body: OutboxBody.parse({ kind: 'message', text, entered: false }) });
    return uuid;
  }

  const responseOf = (id: string) =>
    frames().find(
      (frame): frame is Extract<Frame, { kind: 'response' }> => frame.kind === 'response' && frame.requestId === id,
    );

  return {
    trial,
    frames,
    responseTo: (id) => responseOf(id)?.response,
    until,
    messages,
    modelRequests,
    sayText,
    say: (steps, uuid) => sayText(prompt({ steps }, 'A message of `callboard doctor`.'), uuid),

    asked: () =>
      until('a request for permission', () => {
        const [next] = frames().flatMap((frame) =>
          frame.kind === 'request' && !seen.has(frame.requestId) ? [frame] : [],
        );
        if (next === undefined) return undefined;
        seen.add(next.requestId);
        const parsed = CanUseTool.safeParse(next.request);
        if (!parsed.success || next.subtype !== 'can_use_tool')
          throw new Error(`it asked in a way that Callboard does not understand ("${next.subtype}")`);
        return { requestId: next.requestId, toolName: parsed.data.tool_name, input: parsed.data.input };
      }),

    async answer({ requestId }, response) {
      const body = OutboxBody.parse({ kind: 'answer', response: { subtype: 'success', response } });
      await trial.write({ wireId: requestId, body });
      return { subtype: 'success', response, request_id: requestId };
    },

    async control(request) {
      const id = randomUUID();
      await trial.write({ wireId: id, body: OutboxBody.parse({ kind: 'control', request }) });
      const reply = await until(`the reply to ${request.subtype}`, () =>
        frames()
          .flatMap((frame) => (frame.kind === 'response' && frame.requestId === id ? [frame] : []))
          .at(0),
      );
      if (!reply.ok) throw new Error(`it refused ${request.subtype}: ${String(reply.response.error)}`);
      return reply.response;
    },

    async result() {
      const result = await until('the end of the turn', () => messages('result')[counts.results]);
      counts.results += 1;
      return result;
    },

    async modelAsked() {
      const request = await until('a question to the model', () => modelRequests()[counts.modelRequests]);
      counts.modelRequests += 1;
      return request;
    },

    lifecycleOf: (uuid) =>
      messages('command_lifecycle').flatMap((message) => {
        const { data } = Lifecycle.safeParse(message);
        return data?.command_uuid === uuid ? [data.state] : [];
      }),
  };
}
