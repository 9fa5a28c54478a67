// Sits between a host and the real CLI, and tells some lies.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { LIES, Line } from './lies.ts';

const [names = '', real = '', ...args] = process.argv.slice(2);
const lies = names.split(',').flatMap((name) => LIES[name] ?? []);
const options = lies.flatMap((lie) => lie.options ?? []);
const child = spawn(real, [...options, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
child.on('exit', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => child.kill('SIGTERM'));

/** Forwards a line, as all lies together leave it. */
function forward(text: string, to: NodeJS.WritableStream, way: 'distort' | 'garble'): void {
  let changed: Line | null = Line.parse(JSON.parse(text));
  for (const lie of lies) {
    const change = lie[way];
    if (changed !== null && change !== undefined) changed = change(changed);
  }
  if (changed !== null) to.write(`${JSON.stringify(changed)}\n`);
}

createInterface({ input: process.stdin }).on('line', (text) => forward(text, child.stdin, 'distort'));
createInterface({ input: child.stdout }).on('line', (text) => forward(text, process.stdout, 'garble'));
