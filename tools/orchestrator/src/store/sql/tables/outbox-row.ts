import { LaunchId, MessageId, StageId } from '@callboard/contract';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { type MessageRow, OutboxBody, type OutboxRow } from '../../records.ts';
import type { Schema } from '../schema.ts';

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
