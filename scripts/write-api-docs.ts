/** Writes `docs/reference.md` from the schemas in the code; `npm run build` does it. */
import { join } from 'node:path';
import { problems } from '@callboard/contract';
import { eventTable, shapeTables, streamEventTable } from './event-tables.ts';
import { markdownTable } from './markdown-table.ts';

const problemTable = (): string =>
  markdownTable(
    ['code', 'status', 'meaning'],
    Object.entries(problems).map(([code, { status, meaning }]) => [`\`${code}\``, String(status), meaning]),
  );

/** Returns the page: the codes of errors, the events, and the shapes of what they carry. */
export const reference = (): string => `# Reference

Written by \`npm run build\` from the schemas; not kept in git. [API](api.md) and [events](events.md) say how to use it, and
\`/api/openapi.json\` of a running Callboard has every route.

## Error codes

${problemTable()}

## Stored events

${eventTable()}

## Events that are not stored

They have no \`id\` (\`resync\` has the one after which the stream goes on), and are never replayed.

${streamEventTable()}

## Shapes

A field with a question mark may be missing; the others are always there, if only as null.

${shapeTables()}
`;

export async function writeReference(): Promise<void> {
  const { place } = await import('./bundles.ts'); // which loads the bundlers; tests only need the text
  place(join(import.meta.dirname, '../docs/reference.md'), reference());
}

if (import.meta.main) await writeReference();
