import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** What to load into a Node with `--import`, so that it records how long its event loop was blocked. */
export const RECORDER = fileURLToPath(new URL('record-stretches.ts', import.meta.url));

const Stretches = z.array(z.object({ wallMs: z.number(), heldMs: z.number() }));
export type Stretches = z.infer<typeof Stretches>;

/** Returns what a recorder has written into this file, once it is there. */
export async function readStretches(file: string): Promise<Stretches> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => null);
    if (text !== null) return Stretches.parse(JSON.parse(text));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
