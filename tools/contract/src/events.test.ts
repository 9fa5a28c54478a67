import { expect, it } from 'vitest';
import { AT, eventSamples, sampleEvent } from '../test/samples.ts';
import { eventName, wireName } from './commands.ts';
import { BoardEvent, type EventType, eventData } from './events.ts';
import { streamEventData } from './http.ts';

const types = Object.keys(eventData) as EventType[];

it('lets every event of the table across a process', () => {
  expect(Object.keys(eventSamples).sort()).toEqual([...types].sort());
  const known = BoardEvent.options.map((option) => option.shape.type.value);
  expect([...known].sort()).toEqual([...types].sort());
});

it('gives no stored event the name of one that streams carry beside them', () => {
  expect(types.filter((type) => Object.hasOwn(streamEventData, type))).toEqual([]);
});

it.each(types)('carries %s unchanged', (type) => {
  const event = { ...sampleEvent(type), seq: 7, at: AT };
  expect(BoardEvent.parse(JSON.parse(JSON.stringify(event)))).toEqual(event);
});

it.each(types)('gives %s a name on the wire that leads back to it and to no other', (type) => {
  expect(wireName(type)).toMatch(/^[a-z]+(_[a-z]+)*$/);
  expect(eventName(wireName(type))).toBe(type);
  expect(types.filter((other) => wireName(other) === wireName(type))).toEqual([type]);
});

it("refuses an event of an unknown type, without a number, or whose data is another event's", () => {
  const event = { ...sampleEvent('stage-removed'), seq: 1, at: AT };
  expect(BoardEvent.safeParse({ ...event, type: 'stage-painted' }).success).toBe(false);
  expect(BoardEvent.safeParse({ ...event, seq: 0 }).success).toBe(false);
  expect(BoardEvent.safeParse({ ...event, type: 'stage-created' }).success).toBe(false);
});
