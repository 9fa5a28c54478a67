import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The folders of the system's programs. */
export const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Writes a shell script of this name into a folder. Resolves with its path. */
export async function putProgram(folder: string, name: string, script: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}
