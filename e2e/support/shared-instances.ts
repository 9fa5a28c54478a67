import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { processesOf } from './processes.ts';

/** Where the workers of a run leave word of the Callboards that outlive a file of tests. */
const VARIABLE = 'CALLBOARD_TEST_SHARED';
const Saved = z.object({ folder: z.string(), down: z.array(z.string()).readonly() });
/** What the end of the run has to end: everything in a folder, by this command. */
type Saved = z.infer<typeof Saved>;

/** Leaves word of a Callboard for the end of the run. @returns a function that takes it back */
export async function retainUntilEnd(saved: Saved): Promise<() => Promise<void>> {
  const folder = process.env[VARIABLE];
  if (folder === undefined) throw new Error(`the project of this test has no global set-up (${VARIABLE})`);
  const path = join(folder, `${process.pid}-${performance.now()}.json`);
  await writeFile(path, JSON.stringify(saved));
  return () => rm(path);
}

/** For `globalSetup`. @returns how to end, after the last test, what workers have left running */
export default async function setUp(): Promise<() => Promise<void>> {
  if (process.env[VARIABLE] !== undefined) return async () => undefined; // another project of this run does it
  const text = await mkdtemp(join(tmpdir(), 'callboard-shared-'));
  process.env[VARIABLE] = text;
  return async () => {
    for (const name of await readdir(text))
      await end(Saved.parse(JSON.parse(await readFile(join(text, name), 'utf8'))));
    await rm(text, { recursive: true });
  };
}

async function end({ folder, down: [node = '', ...args] }: Saved): Promise<void> {
  await promisify(execFile)(node, args);
  const left = await processesOf(folder);
  if (left.length > 0) throw new Error(`left running: ${left.join('; ')}`);
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}
