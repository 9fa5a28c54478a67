import { nodePlatform, type Platform } from '../src/platform.ts';
import { run } from '../src/run.ts';

/** Runs a command line in this process. */
export async function runHere(args: readonly string[], platform: Partial<Platform> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const exitCode = await run(args, {
    ...nodePlatform(process),
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    ...platform,
  });
  return { exitCode, out: out.join('\n'), err: err.join('\n') };
}
