import { type Edges, nodeEdges } from '../src/edges.ts';
import { run } from '../src/run.ts';

/** Runs a command line in this process. */
export async function runHere(args: readonly string[], edges: Partial<Edges> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const exitCode = await run(args, {
    ...nodeEdges(process),
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    ...edges,
  });
  return { exitCode, out: out.join('\n'), err: err.join('\n') };
}
