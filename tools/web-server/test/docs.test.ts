import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { documents, withTables } from '../../../scripts/write-api-docs.ts';

it.each(documents.map((file) => [basename(file), file] as const))(
  'docs/%s has the tables of the contract',
  (_, file) => {
    const text = readFileSync(file, 'utf8');
    expect(text, 'run: node scripts/write-api-docs.ts').toBe(withTables(text));
    for (const [, shape] of text.matchAll(/\]\(#(\w+)\)/g)) expect(text.toLowerCase()).toContain(`# ${shape}`);
  },
);
