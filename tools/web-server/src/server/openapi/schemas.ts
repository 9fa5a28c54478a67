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

/** What the OpenAPI document says of a schema beside its shape. One with an `id` stands under that name, once. */
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

/** A copy of the schema, with an example that the document shows. */
export function withExample<S extends z.ZodType>(schema: S, example: unknown): S {
  const copy = schema.clone();
  schemaNotes.add(copy, { examples: [example] });
  return copy;
}
