import type { OutboxRow } from '../../store/records.ts';

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
