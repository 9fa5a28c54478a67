import { nodePlatform } from './platform.ts';
import { run } from './run.ts';

// If the terminal has closed, the last lines must not end in a crash.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

process.exitCode = await run(process.argv.slice(2), nodePlatform(process));
