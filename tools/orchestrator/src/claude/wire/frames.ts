import { RequestId } from '@callboard/contract';
import { z } from 'zod';
import { parseJson } from '../../lib/parse-json.ts';

/**
 * A printed line, classified by how a host must react to it. The format is the CLI's, so unknown keys are accepted, a line of
 * an unknown type is kept as a message, and a line that is not a JSON object is kept as garbage. A known envelope of the
 * wrong shape is garbage, too. Shapes as seen with CLI 2.1.330.
 */
export type Frame =
  /** The CLI asks, and waits for a `control_response` with that id. */
  | { kind: 'request'; requestId: string; subtype: string; request: { subtype: string; [field: string]: unknown } }
  /** The CLI withdraws its own request. */
  | { kind: 'cancel'; requestId: string }
  /** A reply to one of our requests, or (with `--replay-user-messages`) the echo of the answer that took effect. */
  | { kind: 'response'; requestId: string; ok: boolean; response: Record<string, unknown> }
  /** Everything else: transcript, state, notices. */
  | { kind: 'message'; type: string; message: Record<string, unknown> }
  /** The beginning of a line that was cut off: the disk was full, or the process was killed. */
  | { kind: 'cut-off'; text: string }
  | { kind: 'garbage'; text: string };

const Request = z.looseObject({
  type: z.literal('control_request'),
  request_id: RequestId,
  // A request without details is answered, too: the CLI waits for it.
  request: z.looseObject({ subtype: z.string().catch('unknown') }).catch({ subtype: 'unknown' }),
});
const Cancel = z.looseObject({ type: z.literal('control_cancel_request'), request_id: RequestId });
const Response = z.looseObject({
  type: z.literal('control_response'),
  response: z.looseObject({ subtype: z.string().optional().catch(undefined), request_id: RequestId }),
});

/** The beginnings of lines whose loss would matter. Objects within a line have other types, or are not at its end. */
const BEGINNING =
  /\{"type":"(?:assistant|user|system|result|stream_event|command_lifecycle|control_request|control_response|control_cancel_request)"/g;

/**
 * Parses a line of the spool: one frame, or the rest of a frame that was cut off and the next one in the same line. Never
 * throws.
 */
export function parseLine(text: string): Frame[] {
  const frame = parseFrame(text);
  if (frame.kind !== 'garbage' || !text.startsWith('{') || isObject(parseJson(text))) return [frame];
  // Quotes within strings are escaped, so a tool's output is never mistaken for a line.
  for (const { index: at } of text.matchAll(BEGINNING)) {
    if (at > 0 && isObject(parseJson(text.slice(at)))) {
      return [{ kind: 'cut-off', text: text.slice(0, at) }, parseFrame(text.slice(at))];
    }
  }
  return [{ kind: 'cut-off', text }];
}

/** Not a schema, since that would copy each printed line. */
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses a line that holds a single frame. Never throws. */
export function parseFrame(text: string): Frame {
  const message = parseJson(text);
  if (!isObject(message)) return { kind: 'garbage', text };
  switch (message.type) {
    case 'control_request': {
      const parsed = Request.safeParse(message);
      if (!parsed.success) return { kind: 'garbage', text };
      const { request_id: requestId, request } = parsed.data;
      return { kind: 'request', requestId, subtype: request.subtype, request };
    }
    case 'control_cancel_request': {
      const parsed = Cancel.safeParse(message);
      return parsed.success ? { kind: 'cancel', requestId: parsed.data.request_id } : { kind: 'garbage', text };
    }
    case 'control_response': {
      const parsed = Response.safeParse(message);
      if (!parsed.success) return { kind: 'garbage', text };
      // A reply to `initialize` has the open requests beside its `response`, so all of it is passed on.
      const { response } = parsed.data;
      return {
        kind: 'response',
        requestId: response.request_id,
        ok: response.subtype === 'success' || (response.subtype === undefined && response.error === undefined),
        response: parsed.data.response,
      };
    }
    default:
      return { kind: 'message', type: typeof message.type === 'string' ? message.type : '', message };
  }
}
