import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPILE_CACHE } from '../../../../test-support/compile-cache.ts';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { findMarkedProcesses } from '../../src/platform/process-table.ts';

/** Creates a program called `claude` that is not the real one. */
export async function fakeClaude(folder: string, script: string): Promise<string> {
  const path = join(folder, 'claude');
  await writeFile(path, script);
  await chmod(path, 0o755);
  return path;
}

/** Creates a program that runs the real CLI and breaks promises. @param lies their names, separated by commas */
export function lyingClaude(folder: string, lies: string): Promise<string> {
  const program = fileURLToPath(new URL('lying-claude.ts', import.meta.url));
  return fakeClaude(
    folder,
    `#!/bin/sh\nexec '${process.execPath}' --import '${COMPILE_CACHE}' '${program}' '${lies}' '${REAL_CLAUDE}' "$@"\n`,
  );
}

/** Returns the living processes that a doctor started with `tmp` as its temporary folder. */
export async function doctorsProcesses(tmp: string): Promise<number[]> {
  const marked = await findMarkedProcesses();
  const pids = [...marked].flatMap(([id, found]) => (id.startsWith('doctor-') ? found : []));
  const environs = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')));
  return pids.filter((_pid, index) => environs[index]?.includes(tmp));
}
