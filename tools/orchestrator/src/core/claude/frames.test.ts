import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseFrame, parseLine } from './frames.ts';

const line = (value: unknown) => JSON.stringify(value);

it('never throws on any line', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.jsonValue().map(line),
    fc.json().map((json) => json.slice(0, -1)),
  );
  fc.assert(fc.property(text, (it) => void expect(parseFrame(it).kind).toBeTypeOf('string')));
});

it('never throws on an envelope with any content', () => {
  const type = fc.constantFrom('control_request', 'control_response', 'control_cancel_request', 'user', '__proto__');
  const some = {
    request_id: fc.jsonValue(),
    request: fc.jsonValue(),
    response: fc.jsonValue(),
    message: fc.jsonValue(),
  };
  const frame = fc.record({ type, ...some }, { requiredKeys: ['type'] });
  fc.assert(fc.property(frame, (value) => void expect(parseFrame(line(value)).kind).toBeTypeOf('string')));
});

it('keeps every object that is not an envelope, with all its keys', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), (object) => {
      fc.pre(!String(object.type).startsWith('control_') && !Object.hasOwn(object, '__proto__'));
      const message = JSON.parse(line(object));
      const type = typeof message.type === 'string' ? message.type : '';
      expect(parseFrame(line(object))).toEqual({ kind: 'message', type, message });
    }),
  );
});

it.each(['', 'null', '1', '"text"', '[]', '[{"type":"user"}]', '{', 'Error: out of memory', '{"a":1}}'])(
  'keeps a line that is no JSON object as garbage: %s',
  (text) => {
    expect(parseFrame(text)).toEqual({ kind: 'garbage', text });
  },
);

it('parses a request with its id and subtype', () => {
  const request = { subtype: 'can_use_tool', tool_name: 'Bash', later: [1] };
  expect(parseFrame(line({ type: 'control_request', request_id: 'r1', request }))).toEqual({
    kind: 'request',
    requestId: 'r1',
    subtype: 'can_use_tool',
    request,
  });
});

it('parses a cancel request', () => {
  expect(parseFrame(line({ type: 'control_cancel_request', request_id: 'r1' }))).toEqual({
    kind: 'cancel',
    requestId: 'r1',
  });
});

it('tells success from error, and keeps the fields beside the response proper', () => {
  const good = { subtype: 'success', request_id: 'r1', response: { pid: 1 }, pending_permission_requests: [] };
  const bad = { subtype: 'error', request_id: 'r2', error: 'no', error_code: 'unsupported_request' };
  const frame = (response: object) => parseFrame(line({ type: 'control_response', response }));
  expect(frame(good)).toEqual({ kind: 'response', requestId: 'r1', ok: true, response: good });
  expect(frame(bad)).toEqual({ kind: 'response', requestId: 'r2', ok: false, response: bad });
});

it.each([
  ['a request without an id', { type: 'control_request', request: { subtype: 'x' } }],
  ['a request with an empty id', { type: 'control_request', request_id: '', request: { subtype: 'x' } }],
  ['a withdrawal without an id', { type: 'control_cancel_request' }],
  ['a withdrawal with an empty id', { type: 'control_cancel_request', request_id: '' }],
  ['a response that says nothing', { type: 'control_response' }],
  ['a response to nobody', { type: 'control_response', response: { subtype: 'success' } }],
  ['a response to an empty id', { type: 'control_response', response: { subtype: 'success', request_id: '' } }],
])('treats %s as garbage, and keeps its text', (_what, frame) => {
  expect(parseFrame(line(frame))).toEqual({ kind: 'garbage', text: line(frame) });
});

it.each([undefined, null, {}, { subtype: 7 }, 'text'])(
  'takes a request that says %o for one, so that it is answered',
  (request) => {
    const frame = parseFrame(line({ type: 'control_request', request_id: 'q', request }));
    expect(frame).toMatchObject({ kind: 'request', requestId: 'q', subtype: 'unknown' });
  },
);

it('treats a reply without a subtype as success, unless it has an error', () => {
  const reply = { request_id: 'r1' };
  expect(parseFrame(line({ type: 'control_response', response: reply }))).toMatchObject({ ok: true });
  const failed = { ...reply, error: 'no' };
  expect(parseFrame(line({ type: 'control_response', response: failed }))).toMatchObject({ ok: false });
});

it('refuses an id that is too long', () => {
  const text = line({ type: 'control_cancel_request', request_id: 'x'.repeat(1_000) });
  expect(parseFrame(text).kind).toBe('garbage');
});

it('finds the complete line behind one that was cut off anywhere, and keeps both', () => {
  const whole = line({ type: 'control_response', response: { subtype: 'success', request_id: 'r1', response: {} } });
  const inner = { type: 'text', text: 'a "{"type":"x"}" b' };
  const cut = line({ type: 'assistant', message: { id: 'm', content: [inner, inner] } });
  for (let at = 1; at < cut.length; at++) {
    const [first, second, ...more] = parseLine(cut.slice(0, at) + whole);
    expect(first).toEqual({ kind: 'cut-off', text: cut.slice(0, at) });
    expect(second).toMatchObject({ kind: 'response', requestId: 'r1' });
    expect(more).toEqual([]);
  }
});

it('reports a lone partial line as cut off, and leaves everything else unchanged', () => {
  const whole = line({ type: 'result', list: [{ type: 'text' }, { type: 'text' }] });
  expect(parseLine(whole)).toEqual([parseFrame(whole)]);
  expect(parseLine(whole.slice(0, -1))).toEqual([{ kind: 'cut-off', text: whole.slice(0, -1) }]);
  expect(parseLine('Segmentation fault')).toEqual([{ kind: 'garbage', text: 'Segmentation fault' }]);
  const malformed = line({ type: 'control_request', request_id: 7 });
  expect(parseLine(malformed)).toEqual([{ kind: 'garbage', text: malformed }]);
});
