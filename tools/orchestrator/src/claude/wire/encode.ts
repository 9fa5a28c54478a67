import type { OutboxRow } from '../../store/records.ts';

/** The line, newline included, that an outbox row is on the wire. */
export function encodeRow({ wireId, body }: Pick<OutboxRow, 'wireId' | 'body'>): string {
  return `${JSON.stringify(frameOf(wireId, body))}\n`;
}

function frameOf(wireId: string, body: OutboxRow['body']): object {
  switch (body.kind) {
    case 'message':
      return {
        type: 'user',
        uuid: wireId,
        // Text is sent as text: without this the CLI would run a leading "/" as a command.
        client_composed: true,
        origin: { kind: 'human' }, // else the CLI does not count it in `queued_turn_count`
        message: { role: 'user', content: body.text },
      };
    case 'answer':
      return { type: 'control_response', response: { ...body.response, request_id: wireId } };
    case 'control':
      return { type: 'control_request', request_id: wireId, request: body.request };
    default:
      return body satisfies never;
  }
}
