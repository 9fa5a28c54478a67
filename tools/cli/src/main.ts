import { nodeEdges } from './edges.ts';
import { run } from './run.ts';

// A terminal that was closed must not turn the last words into a crash.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

process.exitCode = await run(process.argv.slice(2), nodeEdges(process));
