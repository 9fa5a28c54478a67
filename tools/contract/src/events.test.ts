import { expect, it } from 'vitest';
import { AT, eventSamples, sampleEvent } from '../test/samples.ts';
import { BoardEvent, type EventType, eventData, looksLikeEvent } from './events.ts';
import { eventName, wireName } from './frames.ts';
import { streamEventData } from './http.ts';

const types = Object.keys(eventData) as EventType[];

it('lets every event of the table across a process', () => {
  expect(Object.keys(eventSamples).sort()).toEqual([...types].sort());
  const known = BoardEvent.options.map((option) => option.shape.type.value);
  expect([...known].sort()).toEqual([...types].sort());
});

it('uses no name for both a stored event and one that is not stored', () => {
  expect(types.filter((type) => Object.hasOwn(streamEventData, type))).toEqual([]);
});

it.each(types)('carries %s unchanged', (type) => {
  const event = { ...sampleEvent(type), seq: 7, at: AT };
  expect(BoardEvent.parse(JSON.parse(JSON.stringify(event)))).toEqual(event);
});

it.each(types)('gives %s a unique name on the wire', (type) => {
  expect(wireName(type)).toMatch(/^[a-z]+(_[a-z]+)*$/);
  expect(eventName(wireName(type))).toBe(type);
  expect(types.filter((other) => wireName(other) === wireName(type))).toEqual([type]);
});

it('refuses an event of an unknown type, without a number, or with the data of another type', () => {
  const event = { ...sampleEvent('stage-removed'), seq: 1, at: AT };
  expect(BoardEvent.safeParse({ ...event, type: 'stage-painted' }).success).toBe(false);
  expect(BoardEvent.safeParse({ ...event, seq: 0 }).success).toBe(false);
  expect(BoardEvent.safeParse({ ...event, type: 'stage-created' }).success).toBe(false);
});

it.each(types)(
  'tells at a look that %s is one, and is none without any one of the fields that it must have',
  (type) => {
    const event = { ...sampleEvent(type), seq: 7, at: AT };
    expect(looksLikeEvent(JSON.parse(JSON.stringify(event)))).toBe(true);
    for (const name of Object.keys(event.data)) {
      const data = Object.fromEntries(Object.entries(event.data).filter(([other]) => other !== name));
      expect([name, looksLikeEvent({ ...event, data })]).toEqual([
        name,
        BoardEvent.safeParse({ ...event, data }).success,
      ]);
    }
  },
);

it('recognises by shape what is no event', () => {
  const event = { ...sampleEvent('stage-removed'), seq: 1, at: AT };
  const others = [{ type: 'stage-painted' }, { type: 'toString' }, { type: 7 }, { seq: 0 }, { seq: 1.5 }, { seq: '1' }];
  for (const wrong of [...others, { at: undefined }, { data: null }, { data: undefined }, { data: 'STAGE-1' }]) {
    expect([wrong, looksLikeEvent({ ...event, ...wrong })]).toEqual([wrong, false]);
  }
  for (const none of [null, undefined, 'stage-removed', 7, []]) expect(looksLikeEvent(none)).toBe(false);
});
