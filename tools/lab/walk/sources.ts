import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { z } from 'zod';
import { root } from '../../../scripts/bundles.ts';
import type { Ran } from './ran.ts';

const RawMap = z.looseObject({
  version: z.int(),
  file: z.string().optional().default(''),
  sources: z.array(z.string()),
  names: z.array(z.string()),
  mappings: z.string(),
});

/** A source file, relative to the clone, and how many lines the functions have that ran, in the bundle. */
export interface Source {
  path: string;
  lines: number;
}

/** The file that a bundle was written to, and its source map. */
export type FindBundle = (url: string) => { path: string; map: string };

/**
 * Returns the project's own source files that functions came from, sorted; code bundled from packages is left out.
 * @param find where the bundled file and its source map are
 */
export async function sourcesOf(ran: readonly Ran[], find: FindBundle): Promise<Source[]> {
  const byUrl = Map.groupBy(ran, ({ url }) => url);
  const found = await Promise.all(
    [...byUrl].map(async ([url, parts]) => {
      const { path, map } = find(url);
      if (!existsSync(map)) return []; // the few lines of the bundler
      const [code, raw] = await Promise.all([readFile(path, 'utf8'), readFile(map, 'utf8')]);
      const sourceMap = new SourceMap({ ...RawMap.parse(JSON.parse(raw)), sourcesContent: [], sourceRoot: '' });
      const lines = lineStarts(code);
      const lineOf = (offset: number) => lines.findLastIndex((start) => start <= offset);
      return parts
        .flatMap((part) => part.functions)
        .flatMap(([start, end]) => {
          const first = lineOf(start);
          const entry = sourceMap.findEntry(first, start - (lines[first] ?? 0));
          if (!('originalSource' in entry) || typeof entry.originalSource !== 'string') return [];
          const path = relative(root, resolve(dirname(map), entry.originalSource));
          return Array.from({ length: lineOf(end) - first + 1 }, (_, more) => ({ path, line: first + more }));
        });
    }),
  );
  const own = found.flat().filter(({ path }) => /^tools\/[\w-]+\/src\//.test(path));
  const files = [...Map.groupBy(own, ({ path }) => path)].map(([path, all]) => ({
    path,
    lines: new Set(all.map(({ line }) => line)).size,
  }));
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function lineStarts(code: string): number[] {
  return [0, ...[...code.matchAll(/\n/g)].map(({ index }) => index + 1)];
}
