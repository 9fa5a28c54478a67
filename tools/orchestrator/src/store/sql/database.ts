import type { Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/** A connection, or a transaction on one. */
export type Database = Kysely<Schema>;
