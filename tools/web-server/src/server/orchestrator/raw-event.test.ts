import { type BoardEvent, wireName } from '@callboard/contract';
import { expect, it } from 'vitest';
import { modeChanged } from '../../../test/samples.ts';
import { checkEvent, cutEventFrame, toRawEvent } from './connection.ts';

/** As the gateway of the orchestrator writes it. */
const frameOf = ({ type, seq, at, data }: BoardEvent): string =>
  JSON.stringify({ type: wireName(type), seq, at, data });

it('leaves the data of a frame in its own words, whatever stands in them', () => {
  const event = modeChanged(7);
  const odd = { ...event.data, mode: '},"data":{"seq":8}} \n " \u2028 é' };
  for (const data of [event.data, odd]) {
    const reported = cutEventFrame(frameOf({ ...event, data } as BoardEvent));
    expect(reported).toEqual({ type: 'mode_changed', seq: 7, at: event.at, data: JSON.stringify(data) });
  }
});

it('leaves frames that are written another way to be parsed', () => {
  const { type, seq, at, data } = modeChanged(7);
  const name = wireName(type);
  for (const frame of [
    { type: 'reply', id: '1', ok: true, data },
    { type: 'text_delta', data },
    { type: name, data, seq, at },
    { type: name, seq, at, data: null },
    { type: name, seq: 1.5, at, data },
    { type: name, seq, at, data, more: true },
  ]) {
    expect([frame, cutEventFrame(JSON.stringify(frame))]).toEqual([frame, null]);
  }
  expect(cutEventFrame('')).toBeNull();
});

it('takes at a look what has the name, the number and the fields of an event, and nothing else', () => {
  const event = modeChanged(7);
  const frame = { ...toRawEvent(event), type: wireName(event.type) };
  expect(checkEvent(frame)).toEqual(toRawEvent(event));
  for (const wrong of [
    { type: 'moon_risen' },
    { type: 'to_string' },
    { seq: 0 },
    { data: '{"nonsense":true}' },
    { data: 'null' },
  ]) {
    expect([wrong, checkEvent({ ...frame, ...wrong })]).toEqual([wrong, null]);
  }
});
