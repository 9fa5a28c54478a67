import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MachineId } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import type { Platform } from '../lib/edges.ts';

/** `secret`: what this machine shows to others; they know its hash from the store. */
const Identity = z.object({ id: MachineId, secret: z.string().min(32) });
export type Identity = z.infer<typeof Identity>;

/**
 * Returns the id and the secret of the machine that this data directory belongs to; a new directory gets them.
 * @throws a system error, or ZodError for a file that somebody changed
 */
export async function identityOf(dataDir: string, platform: Pick<Platform, 'newId'>): Promise<Identity> {
  const file = join(dataDir, 'machine.json');
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (text !== null) return Identity.parse(JSON.parse(text));
  const identity = { id: MachineId.parse(platform.newId()), secret: randomBytes(32).toString('base64url') };
  await writeFile(`${file}.new`, `${JSON.stringify(identity)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return identity;
}
