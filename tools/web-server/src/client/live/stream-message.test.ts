import { SANDBOX_UNTRIED } from '@callboard/contract';
import { expect, it } from 'vitest';
import { request } from '../test/samples.ts';
import { parseMessage } from './stream-message.ts';

const raw = (name: string, data: unknown, id = '') => ({ name, id, data: JSON.stringify(data) });

it('reads a stored event by its name, its id and its flat data', () => {
  const asked = request('STAGE-1', 'r1');
  expect(parseMessage(raw('approval-requested', asked, '12'))).toMatchObject({
    type: 'event',
    event: { type: 'approval-requested', seq: 12, data: asked },
  });
});

it('reads what is not stored', () => {
  expect(parseMessage(raw('stream', { streamId: 's', seq: 3 }))).toEqual({ type: 'stream', streamId: 's', seq: 3 });
  expect(parseMessage(raw('orchestrator-status', { status: 'unreachable' }))).toEqual({
    type: 'orchestrator-status',
    status: 'unreachable',
  });
  const notices = { warnings: ['w'], paused: null, sandbox: SANDBOX_UNTRIED };
  expect(parseMessage(raw('notices-updated', notices))).toEqual({ type: 'notices-updated', notices });
  expect(parseMessage({ name: 'resync', id: '', data: '' })).toEqual({ type: 'resync' });
});

it.each([
  ['an event without a number', raw('stage-removed', { stageId: 'STAGE-1' })],
  ['data that is no JSON', { name: 'stage-removed', id: '4', data: '{' }],
  ['data of another shape', raw('orchestrator-status', { status: 'asleep' })],
  ['an event of an unknown name', raw('moon-risen', {}, '4')],
])('says of %s that it cannot be read', (_, message) => {
  expect(parseMessage(message)).toEqual({ type: 'unreadable', name: message.name });
});
