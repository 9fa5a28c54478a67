import { open, readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { KeptFile, TrashEntry } from '@callboard/contract';
import { z } from 'zod';

const FILE = 'entry.json';

/** Whether the path stays below the folder. The manifest is not trusted. */
const isBelow = (path: string): boolean => !isAbsolute(path) && !path.split('/').includes('..') && path !== '';

/** The description of a trash entry, stored beside its files. */
export const Manifest = TrashEntry.omit({ expiresAt: true, fileCount: true, bytes: true, worktree: true }).extend({
  /** The instant from which its age counts; never in the past, whatever the time of day says (decision 029). */
  keptAt: z.iso.datetime(),
  files: z.array(KeptFile.extend({ path: z.string().refine(isBelow, 'leads out of the folder') })),
});
export type Manifest = z.infer<typeof Manifest>;

/** Returns null if there is no entry of that name or its manifest is incomplete; in that case no file was moved yet. */
export async function readManifest(folder: string, id: string): Promise<Manifest | null> {
  try {
    const manifest = Manifest.parse(JSON.parse(await readFile(join(folder, FILE), 'utf8')));
    return manifest.id === id ? manifest : null;
  } catch {
    return null;
  }
}

/** Writes the manifest. Resolves when it is on the disk. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await using file = await open(join(folder, FILE), 'w', 0o600);
  await file.writeFile(JSON.stringify(manifest));
  await file.sync();
}
