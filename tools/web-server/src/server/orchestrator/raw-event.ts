import { type BoardEvent, type EventType, eventName, hasFieldsOf, isEventType } from '@callboard/contract';

/** An event on its way through. Its data stay the text that the orchestrator wrote: nothing here reads more than a few fields. */
export interface RawEvent {
  type: EventType;
  seq: number;
  at: string;
  /** JSON. */
  data: string;
}

/** The frame of an event before its name is checked. */
export interface RawEventFrame extends Omit<RawEvent, 'type'> {
  type: string;
}

/** How the orchestrator starts the frame of an event; an object and the end of the frame follow. */
const HEAD = /^\{"type":"([a-z_]+)","seq":(\d{1,15}),"at":"([\dTZ:.-]+)","data":(?=\{)/;

/**
 * Cuts the frame of an event as our orchestrator writes it: `data` comes last, on a single line. Returns null for any other
 * frame, which has to be parsed.
 */
export function cutEventFrame(text: string): RawEventFrame | null {
  const [head, type, seq, at] = HEAD.exec(text) ?? [];
  if (head === undefined || type === undefined || at === undefined || !text.endsWith('}}')) return null;
  return { type, seq: Number(seq), at, data: text.slice(head.length, -1) };
}

/** Checks an event of our own orchestrator; null if it lacks the name, the number or the fields of one. */
export function checkEvent(frame: RawEventFrame): RawEvent | null {
  const { seq, data } = frame;
  const type = eventName(frame.type);
  if (!isEventType(type) || seq < 1 || !data.startsWith('{')) return null;
  return hasFieldsOf(type, (name) => data.includes(`"${name}":`)) ? { ...frame, type } : null;
}

export const toRawEvent = ({ type, seq, at, data }: BoardEvent): RawEvent => ({
  type,
  seq,
  at,
  data: JSON.stringify(data),
});
