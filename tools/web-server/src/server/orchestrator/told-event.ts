import { type BoardEvent, type EventType, eventName, hasFieldsOf, isEventType } from '@callboard/contract';

/** An event on its way through. Its data stay in the words of the orchestrator: nobody here reads more than a few of them. */
export interface ToldEvent {
  type: EventType;
  seq: number;
  at: string;
  /** JSON. */
  data: string;
}

/** An event's frame before its name is known to be one. */
export interface EventFrameText extends Omit<ToldEvent, 'type'> {
  type: string;
}

/** How the orchestrator begins an event's frame; an object follows, and the end of the frame. */
const HEAD = /^\{"type":"([a-z_]+)","seq":(\d{1,15}),"at":"([\dTZ:.-]+)","data":(?=\{)/;

/**
 * The frame of an event as our own orchestrator writes it: `data` comes last, and in a single line. Null for any other frame,
 * which has to be parsed.
 */
export function cutEventFrame(text: string): EventFrameText | null {
  const [head, type, seq, at] = HEAD.exec(text) ?? [];
  if (head === undefined || type === undefined || at === undefined || !text.endsWith('}}')) return null;
  return { type, seq: Number(seq), at, data: text.slice(head.length, -1) };
}

/** A look at an event that our own orchestrator has made; null where it has not the name, the number or the fields of one. */
export function toldEvent(frame: EventFrameText): ToldEvent | null {
  const { seq, data } = frame;
  const type = eventName(frame.type);
  if (!isEventType(type) || seq < 1 || !data.startsWith('{')) return null;
  return hasFieldsOf(type, (name) => data.includes(`"${name}":`)) ? { ...frame, type } : null;
}

export const toldFrom = ({ type, seq, at, data }: BoardEvent): ToldEvent => ({
  type,
  seq,
  at,
  data: JSON.stringify(data),
});
