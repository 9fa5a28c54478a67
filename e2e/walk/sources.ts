import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { z } from 'zod';
import { root } from '../../scripts/bundles.ts';
import type { Ran } from './ran.ts';

const RawMap = z.looseObject({
  version: z.int(),
  file: z.string().optional().default(''),
  sources: z.array(z.string()),
  names: z.array(z.string()),
  mappings: z.string(),
});

/** The file that a bundle was written to, and its source map. */
export type FindBundle = (url: string) => { path: string; map: string };

/**
 * Returns the project's own source files that functions came from, relative to the clone, sorted; code bundled from packages is left out.
 * @param find where the bundled file and its source map are
 */
export async function sourcesOf(ran: readonly Ran[], find: FindBundle): Promise<string[]> {
  const starts = Map.groupBy(ran, ({ url }) => url);
  const found = await Promise.all(
    [...starts].map(async ([url, parts]) => {
      const { path, map } = find(url);
      if (!existsSync(map)) return []; // the few lines of the bundler
      const [code, raw] = await Promise.all([readFile(path, 'utf8'), readFile(map, 'utf8')]);
      const sourceMap = new SourceMap({ ...RawMap.parse(JSON.parse(raw)), sourcesContent: [], sourceRoot: '' });
      const lines = lineStarts(code);
      return parts
        .flatMap((part) => part.starts)
        .flatMap((offset) => {
          const line = lines.findLastIndex((start) => start <= offset);
          const entry = sourceMap.findEntry(line, offset - (lines[line] ?? 0));
          return 'originalSource' in entry && typeof entry.originalSource === 'string'
            ? [resolve(dirname(map), entry.originalSource)]
            : [];
        });
    }),
  );
  const own = found.flat().map((path) => relative(root, path));
  return [...new Set(own)].filter((path) => /^tools\/[\w-]+\/src\//.test(path)).sort();
}

function lineStarts(code: string): number[] {
  return [0, ...[...code.matchAll(/\n/g)].map(({ index }) => index + 1)];
}
