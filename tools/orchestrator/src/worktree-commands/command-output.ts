import { mkdir, open, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { CommandOutput, StageId } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';

/** When a file of output is longer than this, its end begins a new one, and what came before the end is dropped. */
const LIMITS = { longest: 8 * 1024 * 1024, kept: 4 * 1024 * 1024 };
/** How much one reply has at most. */
const PAGE = 256 * 1024;

/** Where the output of the commands is kept: `<data-dir>/commands/<stage>/<id>.log`, and the part before it in `<id>.old`. */
export const commandsFolder = (dataDir: string): string => join(dataDir, 'commands');

/** The output of one run. */
export interface OutputFile {
  readonly path: string;
  /** Makes sure that its folder exists. */
  create(): Promise<void>;
  /** Shortens it if it has become too long. The command writes at the end, wherever that is. */
  bound(): Promise<void>;
  /** Returns a page from this position on; without one, the end. @throws a system error */
  read(after?: number): Promise<CommandOutput>;
  remove(): Promise<void>;
}

export function outputFile(dataDir: string, stageId: StageId, id: string, limits = LIMITS): OutputFile {
  const { longest, kept } = limits;
  const path = join(commandsFolder(dataDir), stageId, `${id}.log`);
  const old = `${path.slice(0, -'.log'.length)}.old`;
  const start = `${path.slice(0, -'.log'.length)}.start`;

  /** The position of the first byte of the current file. */
  const startOf = async (): Promise<number> => Number(await textOf(start)) || 0;

  return {
    path,
    create: async () => void (await mkdir(dirname(path), { recursive: true, mode: 0o700 })),
    async bound() {
      const size = await sizeOf(path);
      if (size <= longest) return;
      const from = (await startOf()) + size;
      await writeFile(`${old}.new`, await bytesOf(path, size - kept, kept), { mode: 0o600 });
      // In this order, a crash leaves less output than there was, never output in a wrong place.
      await rm(old, { force: true });
      await truncate(path, 0); // what is printed in this moment is lost
      await writeFile(start, String(from), { mode: 0o600 });
      await rename(`${old}.new`, old);
    },
    async read(after) {
      const [begin, size, oldSize] = [await startOf(), await sizeOf(path), await sizeOf(old)];
      const total = begin + size;
      const first = begin - oldSize;
      const wanted = after ?? Math.max(first, total - PAGE);
      const from = Math.min(Math.max(wanted, first), total);
      const bytes =
        from < begin
          ? await bytesOf(old, from - first, Math.min(PAGE, begin - from))
          : await bytesOf(path, from - begin, PAGE);
      const [skipped, whole] = wholeCharacters(bytes);
      return {
        output: bytes.subarray(skipped, whole).toString('utf8'),
        from: from + skipped,
        to: from + whole,
        total,
        isCut: (after ?? 0) < from + skipped,
      };
    },
    async remove() {
      for (const file of [path, old, `${old}.new`, start]) await rm(file, { force: true });
    },
  };
}

/** Returns the end of the output for a message: without escape sequences, whole lines, at most this many bytes. */
export async function tailOf(file: OutputFile, maxBytes: number): Promise<string> {
  const { total } = await file.read();
  const { output, from } = await file.read(Math.max(0, total - maxBytes));
  const plain = stripVTControlCharacters(output)
    .replaceAll(/[^\n]*\r(?!\n)/g, '')
    .replaceAll('\r\n', '\n');
  const firstLine = plain.indexOf('\n');
  return (from > 0 && firstLine !== -1 ? plain.slice(firstLine + 1) : plain).trimEnd();
}

const isMiddle = (byte: number) => (byte & 0xc0) === 0x80;

/** Returns where the first whole character begins, and where the last one ends. Bytes that are no UTF-8 stay. */
function wholeCharacters(bytes: Buffer): [number, number] {
  let first = 0;
  while (first < 3 && first < bytes.length && isMiddle(bytes[first] ?? 0)) first++;
  let last = bytes.length;
  for (let back = 1; back <= 3 && back <= bytes.length - first; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isMiddle(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (length > back) last = bytes.length - back;
    break;
  }
  return [first, last];
}

/** A run that has printed nothing yet has no file. Any other error is told. */
function orNothing<T>(nothing: T): (error: unknown) => T {
  return (error) => {
    if (systemCode(error) === 'ENOENT') return nothing;
    throw error;
  };
}

const sizeOf = (path: string): Promise<number> => stat(path).then(({ size }) => size, orNothing(0));

async function textOf(path: string): Promise<string> {
  return (await bytesOf(path, 0, 100)).toString('utf8');
}

/** Returns what is there of these bytes. */
async function bytesOf(path: string, from: number, length: number): Promise<Buffer> {
  const file = await open(path, 'r').catch(orNothing(null));
  if (file === null) return Buffer.alloc(0);
  try {
    const buffer = Buffer.alloc(length);
    let read = 0;
    while (read < length) {
      const { bytesRead } = await file.read(buffer, read, length - read, from + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return buffer.subarray(0, read);
  } finally {
    await file.close();
  }
}
