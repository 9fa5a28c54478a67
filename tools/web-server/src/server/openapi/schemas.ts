import {
  BoardEvent,
  Decision,
  FileDiff,
  PendingRequest,
  PermissionRule,
  Phase,
  Problem,
  Project,
  QueuedMessage,
  SessionSummary,
  SessionView,
  Stage,
  StageView,
  TranscriptEntry,
} from '@callboard/contract';
import { z } from 'zod';

/** Notes of the OpenAPI document on a schema. A schema with an `id` is listed once, under that name. */
interface SchemaNotes {
  id?: string;
  description?: string;
  examples?: readonly unknown[];
  [keyword: string]: unknown;
}

export const schemaNotes = z.registry<SchemaNotes>();

const named = {
  BoardEvent,
  Decision,
  FileDiff,
  PendingRequest,
  PermissionRule,
  Phase,
  Problem,
  Project,
  QueuedMessage,
  SessionSummary,
  SessionView,
  Stage,
  StageView,
  TranscriptEntry,
};
for (const [id, schema] of Object.entries(named)) schemaNotes.add(schema, { id });

/** Returns a copy of the schema with an example for the document. */
export function withExample<S extends z.ZodType>(schema: S, example: unknown): S {
  const copy = schema.clone();
  schemaNotes.add(copy, { examples: [example] });
  return copy;
}
