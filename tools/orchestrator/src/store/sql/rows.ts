import { LaunchId, MessageId, StageId } from '@callboard/contract';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { type MessageRow, OutboxBody, type OutboxRow } from '../records.ts';
import type { Schema } from './schema.ts';

/** Converts the row that a query found; null if it found none. */
export const mapRow = <Row, T>(row: Row | undefined, convert: (row: Row) => T): T | null =>
  row === undefined ? null : convert(row);

/** Returns a function that parses a row's document. */
export const documentOf =
  <T>(schema: z.ZodType<T>) =>
  (row: { document: string }): T =>
    schema.parse(JSON.parse(row.document));

const Kind = z.enum(['message', 'answer', 'control']);
const State = z.enum(['accepted', 'written', 'confirmed', 'void']);

export const toRow = (row: Selectable<Schema['outbox']>): OutboxRow => ({
  ordinal: row.ordinal,
  id: row.id,
  stageId: StageId.parse(row.stage_id),
  launchId: row.launch_id === null ? null : LaunchId.parse(row.launch_id),
  kind: Kind.parse(row.kind),
  state: State.parse(row.state),
  wireId: row.wire_id,
  body: OutboxBody.parse(JSON.parse(row.body)),
  actor: row.actor,
  position: row.position,
  writing: row.writing === 1,
  createdAt: row.created_at,
  writtenAt: row.written_at,
  confirmedAt: row.confirmed_at,
  voidReason: row.void_reason,
});

/** @throws TypeError if the row is something else */
export function toMessage(row: OutboxRow): MessageRow {
  if (row.body.kind !== 'message') throw new TypeError(`outbox row ${row.id} is not a message`);
  return { ...row, wireId: MessageId.parse(row.wireId), body: row.body };
}

/** The rows that a transaction gives to launches, by id. The launches' writers get them right after the commit. */
export type GivenRows = Map<string, OutboxRow>;

/**
 * The size of one page in bytes: a page of long entries must not become a frame too big for the connection, nor keep
 * others waiting while it is built.
 */
const PAGE_BYTES = 1024 * 1024;

/** Returns how many of these rows, from the first on, fit a page; at least one, so that the reader can continue. */
export function rowsThatFit(rows: readonly { bytes: number }[]): number {
  let total = 0;
  const tooMany = rows.findIndex(({ bytes }) => {
    total += bytes;
    return total > PAGE_BYTES;
  });
  return tooMany === -1 ? rows.length : Math.max(1, tooMany);
}

/** A board has a few hundred stages, which are read all the time. */
const MAX = 1_000;

/**
 * How long more than those are kept. A start reads all stages and sessions a dozen times: with ten thousand, each read would
 * otherwise push out what the next one needs first.
 */
const SURPLUS_MS = 5_000;

/**
 * Parses and checks a document once while its text stays the same. Comparing texts costs almost nothing; checking five
 * hundred documents costs as much as a whole turn. The values are frozen.
 */
export function parsedOnce<T>(parse: (text: string) => T): (id: string, text: string) => T {
  const known = new Map<string, { text: string; value: T }>();
  let isTrimDue = false;

  function trim(): void {
    isTrimDue = false;
    for (const oldest of known.keys()) {
      if (known.size <= MAX) break;
      known.delete(oldest);
    }
  }

  return (id, text) => {
    const before = known.get(id);
    if (before?.text === text) return before.value;
    const value = Object.freeze(parse(text));
    known.delete(id); // moves it to the end
    known.set(id, { text, value });
    if (known.size > MAX && !isTrimDue) {
      isTrimDue = true;
      setTimeout(trim, SURPLUS_MS).unref();
    }
    return value;
  };
}
