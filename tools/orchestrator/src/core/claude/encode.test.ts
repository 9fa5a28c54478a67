import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OutboxBody, textMessage } from '../../store/records.ts';
import { encodeRow } from './frames.ts';

const message = (text: string): OutboxBody =>
  OutboxBody.parse({ kind: 'message', text, entered: false, attachments: [], isCommand: false });
const decode = (wireId: string, body: OutboxBody) => JSON.parse(encodeRow({ wireId, body }));

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('\n', '\r\n', '\u2028', '\u2029', '\0', '"', '\\', '🐙', '\ud83d'))
    .map((parts) => parts.join('')),
);
const anyObject = fc.dictionary(anyText, fc.jsonValue(), { noNullPrototype: true });
const anyBody: fc.Arbitrary<OutboxBody> = fc.oneof(
  anyText.map(message),
  anyObject.map((response): OutboxBody => ({ kind: 'answer', response })),
  anyObject.map((rest): OutboxBody => ({ kind: 'control', request: { ...rest, subtype: 'interrupt' } })),
);

it('encodes anything as one line of JSON that ends with a newline', () => {
  fc.assert(
    fc.property(anyText, anyBody, (wireId, body) => {
      const line = encodeRow({ wireId, body });
      expect(line.indexOf('\n')).toBe(line.length - 1);
      expect(line).not.toContain('\r');
      expect(() => JSON.parse(line)).not.toThrow();
      // The text survives UTF-8: no lone surrogate reaches the encoder.
      expect(Buffer.from(line, 'utf8').toString('utf8')).toBe(line);
    }),
  );
});

it('sends the text of a person unchanged', () => {
  fc.assert(fc.property(anyText, (text) => void expect(decode('m1', message(text)).message.content).toBe(text)));
});

it('marks a message as text of a person, so that a leading slash runs no command', () => {
  expect(decode('m1', message('/clear'))).toEqual({
    type: 'user',
    uuid: 'm1',
    client_composed: true,
    origin: { kind: 'human' },
    message: { role: 'user', content: '/clear' },
  });
});

it('lets the CLI attach files only in text that a person wrote, and never runs a command for it', () => {
  const written = (text: string) => decode('m1', { ...textMessage(text), attachesFiles: true });
  expect(written('Look at @README.md')).not.toHaveProperty('client_composed');
  expect(written(' /clear @README.md')).toHaveProperty('client_composed', true);
  expect(decode('m1', textMessage('Look at @README.md'))).toHaveProperty('client_composed', true);
});

it('sends an answer with the id of its request, whatever id the answer contains', () => {
  const response = { subtype: 'success', response: { behavior: 'allow' }, request_id: 'other' };
  expect(decode('r1', { kind: 'answer', response })).toEqual({
    type: 'control_response',
    response: { subtype: 'success', request_id: 'r1', response: { behavior: 'allow' } },
  });
});

it('sends a control request unchanged', () => {
  const request = { subtype: 'interrupt', cancel_queued: true };
  expect(decode('c1', { kind: 'control', request })).toEqual({ type: 'control_request', request_id: 'c1', request });
});
