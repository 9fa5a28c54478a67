import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { openSqliteCopy, type Row, type TableShape, type Value } from '../../../store-postgres/src/sqlite-copy.ts';

const ROWS = 3;
/** What databases treat in different ways: case, accents, quotes, escapes, characters beyond the basic plane, and their order. */
const ODD = 'Zz äÄ ß İı \'"`\\ \\u0000 %s $1 ?1 \r\n\t\u0001\u007F\u2028 \uFEFF𝒳😀 ע مرحبا \uE000￿';
const Reference = z.object({ table: z.string(), from: z.string(), to: z.string() });

/** Gives each table of a store's file rows with odd characters, and numbers that go on behind rows that were deleted. */
export async function fillTables(file: string): Promise<void> {
  const copy = openSqliteCopy(file, { readOnly: false });
  const database = new DatabaseSync(file);
  const shapes = new Map((await copy.shapes()).map((shape) => [shape.name, shape]));
  for (const name of copy.order) {
    const shape = shapes.get(name);
    if (shape === undefined) throw new Error(`${name} has no columns`);
    const references = database
      .prepare(`pragma foreign_key_list("${name}")`)
      .all()
      .map((one) => Reference.parse(one));
    const rows = Array.from({ length: name === 'push_keys' ? 1 : ROWS }, (_, index) => rowOf(shape, index, references));
    await copy.insert(shape, rows);
  }
  for (const [name, last] of await copy.lastNumbers()) await copy.setLastNumber(name, last + 7_000_000_000n);
  database.close();
  copy.close();
}

function rowOf({ name, columns }: TableShape, index: number, references: readonly z.infer<typeof Reference>[]): Row {
  const valueIn = (column: string, kind: TableShape['columns'][number]['kind']): Value => {
    const reference = references.find(({ from }) => from === column);
    if (reference !== undefined) return textOf(reference.table, reference.to, index);
    if (kind === 'integer') return name === 'push_keys' ? 1n : 1_000_000_000_000n + BigInt(index);
    if (kind === 'real') return [0.1 + 0.2, 1e-300, -123_456_789.125][index] ?? 0;
    return textOf(name, column, index);
  };
  return columns.map(({ name: column, kind }) => valueIn(column, kind));
}

/** Documents are what JSON makes of any text, half a pair of surrogates and NUL included. */
const textOf = (table: string, column: string, index: number): string =>
  /^(document|body|data|settings|decision)$/.test(column)
    ? JSON.stringify({ [`${ODD}${index}`]: `\0${ODD}\uD83D`, empty: '', nested: [null, index, 0.1] })
    : `${table}.${column} ${index} ${column === 'name' && table === 'people' ? '' : ODD}`;
