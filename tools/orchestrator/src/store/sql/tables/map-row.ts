import type { z } from 'zod';

/** Converts the row that a query found; null if it found none. */
export const mapRow = <Row, T>(row: Row | undefined, convert: (row: Row) => T): T | null =>
  row === undefined ? null : convert(row);

/** Returns a function that parses a row's document. */
export const documentOf =
  <T>(schema: z.ZodType<T>) =>
  (row: { document: string }): T =>
    schema.parse(JSON.parse(row.document));
