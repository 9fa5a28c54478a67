import type { RawEvent } from '../orchestrator/raw-event.ts';

/**
 * Formats a stored event as a server-sent event: `seq` is the id. `at` is our own field; the standard lets clients that do
 * not know it, browsers among them, ignore it.
 */
export const storedEvent = ({ type, seq, at, data }: RawEvent): string =>
  `event: ${type}\nid: ${seq}\nat: ${at}\ndata: ${data}\n\n`;

/** A stored event, formatted. */
export interface EventText {
  seq: number;
  text: string;
}

/** Formats an event that is not stored: without an id, so that a reconnecting browser still sends the last stored one. */
export const passingEvent = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Formats the event that tells a client to reload the board. A reconnecting client continues after `seq`. */
export const resyncEvent = (seq: number): string => `event: resync\nid: ${seq}\ndata: ${JSON.stringify({ seq })}\n\n`;

export const HEARTBEAT = ': heartbeat\n\n';
