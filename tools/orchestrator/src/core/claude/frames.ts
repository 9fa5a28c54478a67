import { RequestId } from '@callboard/contract';
import { z } from 'zod';
import { parseJson } from '../../lib/text.ts';
import type { OutboxRow } from '../../store/records.ts';

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

/** Encodes an outbox row as a line for the CLI, newline included. */
export function encodeRow({ wireId, body }: Pick<OutboxRow, 'wireId' | 'body'>): string {
  return `${JSON.stringify(frameOf(wireId, body))}\n`;
}

type Message = Extract<OutboxRow['body'], { kind: 'message' }>;

/** Text alone is sent as a string; with attachments, as content blocks of the Messages API. */
function content({ text, attachments }: Message): string | object[] {
  if (attachments.length === 0) return text;
  return [...attachments.map(block), { type: 'text', text }];
}

function block({ name, mediaType, dataBase64 }: Message['attachments'][number]): object {
  const source = { type: 'base64', media_type: mediaType, data: dataBase64 };
  if (mediaType.startsWith('image/')) return { type: 'image', source };
  if (mediaType === 'application/pdf') return { type: 'document', source, title: name };
  const file = Buffer.from(dataBase64, 'base64').toString('utf8');
  return { type: 'text', text: `The file ${name}:\n\n${file}` };
}

/**
 * Plain text is marked as such. Otherwise the CLI would run a leading "/" as a command, and attach the files that `@path`
 * names, from any folder and without asking. One mark turns off both, so a "/" that is meant as text wins.
 */
const isPlain = ({ text, isCommand, attachesFiles }: Message): boolean =>
  !isCommand && (!attachesFiles || text.trimStart().startsWith('/'));

function frameOf(wireId: string, body: OutboxRow['body']): object {
  switch (body.kind) {
    case 'message':
      return {
        type: 'user',
        uuid: wireId,
        ...(isPlain(body) ? { client_composed: true } : {}),
        origin: { kind: 'human' }, // otherwise the CLI does not count it in `queued_turn_count`
        message: { role: 'user', content: content(body) },
      };
    case 'answer':
      return { type: 'control_response', response: { ...body.response, request_id: wireId } };
    case 'control':
      return { type: 'control_request', request_id: wireId, request: body.request };
    default:
      return body satisfies never;
  }
}

const NEWLINE = 0x0a;

/** One line of a spool. */
export interface SpoolLine {
  text: string;
  /** Offset of the first byte behind its newline. Reading may resume here once the line's events are committed. */
  end: number;
}

/**
 * Far longer than any line of the CLI (several megabytes were seen), and well below the maximum length of a string. A longer
 * line would use up the memory that all sessions share.
 */
const MAX_LINE_LENGTH = 128 * 1024 * 1024;

/**
 * Splits bytes into lines. Knows nothing about JSON. Decodes whole lines only, so it never splits a character. Skips empty
 * lines. A line longer than `longest` is replaced by a sentence with its length, which is not JSON.
 */
export function createLineReader(start: number, longest = MAX_LINE_LENGTH) {
  let offset = start;
  let parts: Buffer[] = [];
  /** The length of the current line, whether or not its bytes are kept. */
  let length = 0;

  function save(bytes: Buffer): void {
    length += bytes.length;
    if (length <= longest) parts.push(bytes);
    else parts = [];
  }

  const lineSoFar = (): string =>
    length > longest
      ? `A line of ${length} bytes was too long and was discarded.`
      : Buffer.concat(parts).toString('utf8');

  function endLine(): string {
    const text = lineSoFar();
    parts = [];
    length = 0;
    return text;
  }

  return {
    /** Adds the next bytes; returns the lines that they complete. The caller may reuse the buffer afterwards. */
    push(bytes: Buffer): SpoolLine[] {
      const lines: SpoolLine[] = [];
      let from = 0;
      for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
        save(bytes.subarray(from, at));
        offset += at + 1 - from;
        const text = endLine();
        from = at + 1;
        if (text.trim() !== '') lines.push({ text, end: offset });
      }
      if (from < bytes.length) {
        save(Buffer.from(bytes.subarray(from)));
        offset += bytes.length - from;
      }
      return lines;
    },
    /** Offset behind the last added byte, whether or not it completed a line. */
    position: () => offset,
    /** The text of a line without a newline yet: the last output of a process that died. */
    rest: lineSoFar,
  };
}
