import type { ToldEvent } from '../orchestrator/told-event.ts';

/**
 * A stored event as a stream shows it: its `seq` as the id, its own data flat. `at` is a field of ours, which the
 * format allows: those who do not know it, browsers among them, pass over it.
 */
export const storedEvent = ({ type, seq, at, data }: ToldEvent): string =>
  `event: ${type}\nid: ${seq}\nat: ${at}\ndata: ${data}\n\n`;

/** A stored event in the words of a stream. */
export interface EventText {
  seq: number;
  text: string;
}

/** An event that is not stored: without an id, so that a reconnecting browser still names the last stored one. */
export const passingEvent = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Tells a client to load the board anew. A reconnect goes on after `seq`. */
export const resyncEvent = (seq: number): string => `event: resync\nid: ${seq}\ndata: ${JSON.stringify({ seq })}\n\n`;

export const HEARTBEAT = ': heartbeat\n\n';
