import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPILE_CACHE } from '../../../../test-support/compile-cache.ts';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import type { FilterName } from './filters.ts';

/** Creates a program called `claude` that runs the real one and changes one thing in its output. @returns its path */
export async function filteredClaude(folder: string, filter: FilterName): Promise<string> {
  const program = fileURLToPath(new URL('filter-main.ts', import.meta.url));
  const path = join(folder, 'claude');
  await mkdir(folder, { recursive: true });
  await writeFile(
    path,
    `#!/bin/sh\nexec '${process.execPath}' --import '${COMPILE_CACHE}' '${program}' '${REAL_CLAUDE}' '${filter}' "$@"\n`,
  );
  await chmod(path, 0o755);
  return path;
}
