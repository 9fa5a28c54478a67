import { execFile, spawn } from 'node:child_process';
import { closeSync, constants, createWriteStream, fstatSync, openSync, readSync, watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createPartner, type Launch, take } from './baselines.ts';
import type { Partner } from './partner.ts';

const NEWLINE = 0x0a;

/**
 * `claude` on the files that Callboard gives it: a FIFO for its input, a file for its output, in its own session. Nothing else of
 * Callboard is there, so the difference to the raw pipe is the price of these files.
 */
export async function startOnFiles(
  { command, args, env, cwd }: Launch,
  folder: string,
): Promise<Partner & { end(): void }> {
  await mkdir(folder);
  const [input, spool] = [join(folder, 'in.fifo'), join(folder, 'out.jsonl')];
  await promisify(execFile)('mkfifo', [input]);
  const ends = [openSync(input, 'r+'), openSync(spool, 'a'), openSync(join(folder, 'err.log'), 'a')];
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ends });
  for (const end of ends) closeSync(end);
  const fifo = createWriteStream('', { fd: openSync(input, constants.O_WRONLY | constants.O_NONBLOCK) });
  const write = async (line: object) => {
    fifo.write(`${JSON.stringify(line)}\n`);
    return null;
  };
  const partner = createPartner(child.pid ?? -1, write);
  const unwatch = follow(spool, (line) => take(partner, line));
  return Object.assign(partner, {
    end: () => {
      unwatch();
      fifo.destroy();
      child.kill('SIGKILL');
    },
  });
}

/** Calls `onLine` with each line that is appended; returns a function that stops it. */
function follow(path: string, onLine: (line: string) => void): () => void {
  const file = openSync(path, 'r');
  const chunk = Buffer.allocUnsafe(256 * 1024);
  let position = 0;
  let rest = Buffer.alloc(0);
  const watcher = watch(path, () => {
    while (fstatSync(file).size > position) {
      const read = readSync(file, chunk, 0, chunk.length, position);
      position += read;
      rest = Buffer.concat([rest, chunk.subarray(0, read)]);
      for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
        onLine(rest.toString('utf8', 0, end));
        rest = rest.subarray(end + 1);
      }
    }
  });
  return () => {
    watcher.close();
    closeSync(file);
  };
}
