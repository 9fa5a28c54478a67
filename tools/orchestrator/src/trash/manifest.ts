import { open, readFile, rename } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { SavedFile, SavedWork, StageId, TrashEntry } from '@callboard/contract';
import { z } from 'zod';

const FILE = 'entry.json';

/** Whether the path stays below the folder. The manifest is not trusted. */
const isBelow = (path: string): boolean => !isAbsolute(path) && !path.split('/').includes('..') && path !== '';

/** The description of a trash entry, stored beside its files. */
export const Manifest = TrashEntry.omit({
  expiresAt: true,
  fileCount: true,
  bytes: true,
  worktree: true,
  work: true,
}).extend({
  /** The instant from which its age counts; never in the past, whatever the time of day says (docs/decisions/storage.md). */
  keptAt: z.iso.datetime(),
  files: z.array(SavedFile.extend({ path: z.string().refine(isBelow, 'leads out of the folder') })),
  /** `commit` is null until the ref points at it. */
  work: SavedWork.extend({
    ref: z.string().regex(/^refs\/callboard\/trash\/[\w/-]+$/),
    commit: z
      .string()
      .regex(/^[0-9a-f]+$/)
      .nullable(),
    repository: z.string(),
  })
    .nullable()
    .default(null),
  /**
   * The worktree that is just being taken away, by the name of its folder and the name that this gets; null once that is over.
   * Both are in the folder of the project's worktrees.
   */
  taking: z
    .object({ repository: z.string(), name: StageId, aside: z.string().regex(/^\.removed-[\w-]+$/) })
    .nullable()
    .default(null),
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

/** Writes the manifest, in place of an earlier one at once. Resolves when it is on the disk. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const path = join(folder, FILE);
  {
    await using file = await open(`${path}.new`, 'w', 0o600);
    await file.writeFile(JSON.stringify(manifest));
    await file.sync();
  }
  await rename(`${path}.new`, path);
  await using above = await open(folder, 'r');
  await above.sync();
}
