import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MachineId } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import type { Edges } from '../lib/edges.ts';

const Identity = z.object({ id: MachineId });

/**
 * Returns the id of the machine that this data directory belongs to; a new directory gets one.
 * @throws a system error, or ZodError for a file that somebody changed
 */
export async function machineIdOf(dataDir: string, edges: Pick<Edges, 'newId'>): Promise<MachineId> {
  const file = join(dataDir, 'machine.json');
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (text !== null) return Identity.parse(JSON.parse(text)).id;
  const id = MachineId.parse(edges.newId());
  await writeFile(`${file}.new`, `${JSON.stringify({ id })}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return id;
}
