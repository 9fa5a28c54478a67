import { RequestId } from '@callboard/contract';
import { z } from 'zod';

/**
 * What the CLI prints, told apart by what a host has to do with it. The CLI's output is not ours: unknown keys pass,
 * an unknown type is kept as a message, and a line that is no JSON object is kept as garbage. Only a known envelope
 * of the wrong shape is refused as what it claims to be. Shapes as seen with CLI 2.1.330.
 */
export type Frame =
  /** The CLI asks and waits for `control_response` of that id. */
  | { kind: 'request'; requestId: string; subtype: string; request: { subtype: string; [field: string]: unknown } }
  /** The CLI takes its own request back. */
  | { kind: 'cancel'; requestId: string }
  /** A reply to a request of ours, or (with `--replay-user-messages`) the echo of an answer of ours that counted. */
  | { kind: 'response'; requestId: string; ok: boolean; response: Record<string, unknown> }
  /** Everything else: transcript, state, notices. */
  | { kind: 'message'; type: string; message: Record<string, unknown> }
  /** The beginning of a line whose rest was never written: the disk was full, or the process was killed. */
  | { kind: 'cut-off'; text: string }
  | { kind: 'garbage'; text: string };

const Request = z.looseObject({
  type: z.literal('control_request'),
  request_id: RequestId,
  // One that says nothing else is answered all the same: the CLI waits for it.
  request: z.looseObject({ subtype: z.string().catch('unknown') }).catch({ subtype: 'unknown' }),
});
const Cancel = z.looseObject({ type: z.literal('control_cancel_request'), request_id: RequestId });
const Response = z.looseObject({
  type: z.literal('control_response'),
  response: z.looseObject({ subtype: z.string().optional().catch(undefined), request_id: RequestId }),
});

/** How the lines begin whose loss would matter; objects within a line have other types, or more behind them. */
const BEGINNING =
  /\{"type":"(?:assistant|user|system|result|stream_event|command_lifecycle|control_request|control_response|control_cancel_request)"/g;

/**
 * What one line of a spool holds: one frame, or what is left of one that was cut off with the next one behind it, in
 * the same line. Never throws.
 */
export function parseLine(text: string): Frame[] {
  const frame = parseFrame(text);
  if (frame.kind !== 'garbage' || !text.startsWith('{') || isObject(parseJson(text))) return [frame];
  // Quotes within strings are escaped, so what a tool printed is not taken for a line.
  for (const { index: at } of text.matchAll(BEGINNING)) {
    if (at > 0 && isObject(parseJson(text.slice(at)))) {
      return [{ kind: 'cut-off', text: text.slice(0, at) }, parseFrame(text.slice(at))];
    }
  }
  return [{ kind: 'cut-off', text }];
}

/** Without a schema, which would copy each line that is printed. */
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Never throws. */
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
      // An initialize response has the open requests beside its `response`: the whole of it is handed on.
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
