import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { conversationsFolder, readConversation } from './emulator/conversation.ts';

const SOURCES = fileURLToPath(new URL('.', import.meta.url));

/**
 * Writes the emulated `claude` into a folder and returns the path of the program. It is plain JavaScript:
 * stripping types in each of hundreds of processes would cost more than the emulator itself.
 */
export async function writeEmulator(folder: string): Promise<string> {
  const emulator = (await readdir(join(SOURCES, 'emulator'))).map((name) => join('emulator', name));
  for (const name of [...emulator, 'last-marker.ts']) {
    const source = stripTypeScriptTypes(await readFile(join(SOURCES, name), 'utf8'));
    const file = join(folder, name.replace(/\.ts$/, '.mjs'));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, source.replaceAll(/(from '\..*)\.ts'/g, "$1.mjs'"));
  }
  const program = join(folder, 'claude');
  // `exec` keeps the pid. One thread, and a small heap for short-lived objects.
  const flags = '--max-semi-space-size=1 --v8-pool-size=0';
  await writeFile(
    program,
    `#!/bin/sh\nunset NODE_OPTIONS\nexec "${process.execPath}" ${flags} "${join(folder, 'emulator', 'main.mjs')}" "$@"\n`,
  );
  await chmod(program, 0o755);
  return program;
}

/** The messages that the emulator's model received under this HOME: the texts of each conversation, in order, with its working directory. */
export async function emulatedConversations(home: string): Promise<{ cwd: string; texts: string[] }[]> {
  const folder = conversationsFolder(home);
  return (await readdir(folder)).map((name) => {
    const items = readConversation(join(folder, name));
    const texts = items.flatMap((item) => (item.type === 'user' ? [item.text] : []));
    return { cwd: items.find((item) => item.type === 'begun')?.cwd ?? '', texts };
  });
}
