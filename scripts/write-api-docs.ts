/**
 * Generates the tables between the markers of `docs/events.md` and `docs/api.md` from the schemas in the code. Run it after a
 * change of the contract: `node scripts/write-api-docs.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProblemCode, problems } from '@callboard/contract';
import { problemMeanings } from '../tools/web-server/src/server/openapi/problem-meanings.ts';
import { eventTable, shapeTables, streamEventTable } from './event-tables.ts';
import { markdownTable } from './markdown-table.ts';

const docs = join(import.meta.dirname, '../docs');

const problemTable = (): string =>
  markdownTable(
    ['code', 'status', 'meaning'],
    Object.entries(problems).map(([code, status]) => [
      `\`${code}\``,
      String(status),
      problemMeanings[code as ProblemCode], // a key of the table
    ]),
  );

const tables: Readonly<Record<string, () => string>> = {
  problems: problemTable,
  events: eventTable,
  'stream events': streamEventTable,
  shapes: shapeTables,
};

/** Returns the text with its tables regenerated. */
export function withTables(text: string): string {
  return text.replaceAll(
    /(<!-- generated: (.+?) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, head: string, name: string, end: string) => {
      const table = tables[name];
      if (table === undefined) throw new Error(`unknown table "${name}"`);
      return `${head}\n${table()}\n\n${end}`;
    },
  );
}

export const documents = ['events.md', 'api.md'].map((name) => join(docs, name));

if (import.meta.main) for (const file of documents) writeFileSync(file, withTables(readFileSync(file, 'utf8')));
