// Stands between a host and the real CLI, and changes one thing in the CLI's output.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type FilterName, filters } from './filters.ts';

const [real = '', name = '', ...args] = process.argv.slice(2);
const filter = filters[name as FilterName]; // the caller passes a valid name
const child = spawn(real, args, { stdio: ['pipe', 'pipe', 'inherit'] });
process.on('SIGTERM', () => child.kill('SIGTERM'));
process.stdin.pipe(child.stdin);
child.stdin.on('error', () => undefined); // the CLI has ended

let code: number | null = null;
let printing = Promise.resolve();
const exitWhenDone = () => void printing.then(() => process.exit(code ?? 1));
child.on('exit', (status) => {
  code = status;
});
const lines = createInterface({ input: child.stdout });
lines.on('close', exitWhenDone);
lines.on('line', (text) => {
  printing = printing.then(async () => {
    for (const printed of text.startsWith('{') ? await filter(JSON.parse(text)) : [text]) {
      process.stdout.write(`${typeof printed === 'string' ? printed : JSON.stringify(printed)}\n`);
    }
  });
});
