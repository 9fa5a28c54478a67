import { expect, it } from 'vitest';
import { createMessageReader, type RawMessage, readMessage } from './event-stream.ts';

const at = '2026-01-02T03:04:05.000Z';
const raw = (name: string, data: unknown, id = '') => ({ name, id, at, data: JSON.stringify(data) });

const WIRE = [
  'event: stream\ndata: {"a":1}\n\n',
  ': a comment\n\nretry: 5\n\n',
  `event: mode-changed\r\nid: 9\r\nat: ${at}\r\ndata: {"b":\r\ndata: "plän"}\r\n\r\n`,
  'event: resync\ndata: {}\n\nevent: cut-off\ndata: {',
].join('');

it('reads messages with their time from chunks of any size', () => {
  const expected = [
    { name: 'stream', id: '', at: '', data: '{"a":1}' },
    { name: 'mode-changed', id: '9', at, data: '{"b":\n"plän"}' },
    { name: 'resync', id: '', at: '', data: '{}' },
  ];
  for (let size = 1; size <= WIRE.length; size++) {
    const messages: RawMessage[] = [];
    const read = createMessageReader((message) => messages.push(message));
    for (let from = 0; from < WIRE.length; from += size) read(WIRE.slice(from, from + size));
    expect(messages).toEqual(expected);
  }
});

it.each(['whole', 'shape'] as const)('reads a stored event by its name, its number and its data (%s)', (check) => {
  const data = { stageId: 'STAGE-1', mode: 'plan' };
  expect(readMessage(raw('mode-changed', data, '12'), check)).toEqual({ type: 'mode-changed', seq: 12, at, data });
});

it('reads events that are not stored', () => {
  const data = { streamId: '0198f2d4-7c1e-7000-8000-000000000000', seq: 3 };
  expect(readMessage(raw('stream', data), 'shape')).toEqual({ type: 'stream', data });
  const status = { status: 'unreachable' };
  expect(readMessage(raw('orchestrator-status', status), 'shape')).toEqual({
    type: 'orchestrator-status',
    data: status,
  });
  expect(readMessage(raw('resync', { seq: 4 }), 'shape')).toEqual({ type: 'resync', data: { seq: 4 } });
});

it('ignores event types of a newer server', () => {
  expect(readMessage(raw('moon-risen', {}, '4'), 'whole')).toBeNull();
  expect(readMessage(raw('', {}), 'whole')).toBeNull();
});

it.each([
  ['an event without a number', raw('stage-removed', { stageId: 'STAGE-1' })],
  ['an event that lacks a field', raw('mode-changed', { stageId: 'STAGE-1' }, '4')],
  ['data that is no JSON', { ...raw('stage-removed', null, '4'), data: '{' }],
  ['data of another shape', raw('orchestrator-status', { status: 'asleep' })],
])('says of %s that it is not understood', (_, message) => {
  for (const check of ['whole', 'shape'] as const)
    expect(() => readMessage(message, check)).toThrow(expect.objectContaining({ code: 'unreadable' }));
});

it('checks the fields of an event only in a whole check', () => {
  const odd = raw('mode-changed', { stageId: 'STAGE-1', mode: 7 }, '4');
  expect(() => readMessage(odd, 'whole')).toThrow(expect.objectContaining({ code: 'unreadable' }));
  expect(readMessage(odd, 'shape')).toMatchObject({ seq: 4 });
});
