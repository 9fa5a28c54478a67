import type { OutboxRow } from '../../store/records.ts';

/** The line, newline included, that an outbox row is on the wire. */
export function encodeRow({ wireId, body }: Pick<OutboxRow, 'wireId' | 'body'>): string {
  return `${JSON.stringify(frameOf(wireId, body))}\n`;
}

type Message = Extract<OutboxRow['body'], { kind: 'message' }>;

/** Text alone goes as a string; with attachments, as content blocks of the Messages API. */
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

function frameOf(wireId: string, body: OutboxRow['body']): object {
  switch (body.kind) {
    case 'message':
      return {
        type: 'user',
        uuid: wireId,
        // Text is sent as text: without this the CLI would run a leading "/" as a command.
        ...(body.isCommand ? {} : { client_composed: true }),
        origin: { kind: 'human' }, // else the CLI does not count it in `queued_turn_count`
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
