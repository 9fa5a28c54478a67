import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { until } from '../../../../../test-support/until.ts';
import { openFifoWriter } from './channel.ts';
import { createLaunchFolder, launchFiles, openChildEnds } from './claude-process.ts';

const gone = { code: 'process_gone', kind: 'operational' };

/** The FIFO of a launch in its own folder. */
async function makeFifo(): Promise<string> {
  const folder = join(await temporaryFolder(), 'launch');
  await createLaunchFolder(folder);
  return launchFiles(folder).input;
}

/** The reading end, held open by a process that does not read yet. */
function openReader(fifo: string) {
  const fd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  let socket: Socket | undefined;
  let isOpen = true;
  const die = () => {
    if (isOpen && socket === undefined) closeSync(fd);
    socket?.destroy();
    isOpen = false;
  };
  onTestFinished(die);
  return {
    die,
    /** Begins to read; resolves once this many bytes have arrived. */
    async read(bytes: number): Promise<string> {
      const chunks: Buffer[] = [];
      socket = new Socket({ fd, readable: true, writable: false });
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      await until(`${bytes} bytes are read`, () => Buffer.concat(chunks).length >= bytes);
      return Buffer.concat(chunks).toString('utf8');
    },
  };
}

function openWriter(fifo: string) {
  const writer = openFifoWriter(fifo);
  onTestFinished(writer.close);
  return writer;
}

const line = (letter: string, bytes: number) => `${letter.repeat(bytes - 1)}\n`;

it('refuses to open when no process reads', async () => {
  const fifo = await makeFifo();
  expect(() => openFifoWriter(fifo)).toThrow(expect.objectContaining(gone));
  expect(() => openFifoWriter(`${fifo}.removed`)).toThrow(expect.objectContaining(gone));
});

it('reports other errors as they are', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'file'), '');
  expect(() => openFifoWriter(join(folder, 'file', 'in.fifo'))).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
});

it('delivers a line to the reader', async () => {
  const fifo = await makeFifo();
  const reader = openReader(fifo);
  const writer = openWriter(fifo);
  await writer.write('{"text":"ä 🐙"}\n');
  expect(await reader.read(8)).toBe('{"text":"ä 🐙"}\n');
});

it('puts the line into the pipe synchronously when no other line waits', async () => {
  const fifo = await makeFifo();
  const fd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(fd));
  const writer = openWriter(fifo);
  for (const text of ['first\n', 'second\n']) {
    const written = writer.write(text);
    const bytes = Buffer.alloc(100);
    expect(bytes.toString('utf8', 0, readSync(fd, bytes))).toBe(text);
    await written;
    await new Promise(setImmediate);
  }
});

it('completes a 200 KB line once the reader begins to read', async () => {
  const fifo = await makeFifo();
  const reader = openReader(fifo);
  const long = line('x', 200 * 1024);
  const written = openWriter(fifo).write(long);
  expect(await settlesWithin(written, 50)).toBe(false);
  expect(await reader.read(long.length)).toBe(long);
  await written;
});

it('does not mix lines that are written concurrently', async () => {
  const fifo = await makeFifo();
  const reader = openReader(fifo);
  const writer = openWriter(fifo);
  const lines = [line('a', 150_000), line('b', 10), line('c', 150_000), line('d', 10)];
  const written = Promise.all(lines.map((text) => writer.write(text)));
  expect(await reader.read(300_020)).toBe(lines.join(''));
  await written;
});

it('rejects a waiting line and those behind it when the reader dies', async () => {
  const fifo = await makeFifo();
  const reader = openReader(fifo);
  const writer = openWriter(fifo);
  const first = writer.write(line('x', 200 * 1024));
  const second = writer.write('{}\n');
  expect(await settlesWithin(first, 20)).toBe(false);
  reader.die();
  await expect(first).rejects.toMatchObject(gone);
  await expect(second).rejects.toMatchObject(gone);
  await expect(writer.write('{}\n')).rejects.toMatchObject(gone);
});

it('rejects the next line after the reader has died', async () => {
  const fifo = await makeFifo();
  const reader = openReader(fifo);
  const writer = openWriter(fifo);
  await writer.write('{}\n');
  reader.die();
  await expect(writer.write('{}\n')).rejects.toMatchObject(gone);
});

it('rejects waiting lines when it is closed', async () => {
  const fifo = await makeFifo();
  openReader(fifo);
  const writer = openWriter(fifo);
  const written = writer.write(line('x', 200 * 1024));
  expect(await settlesWithin(written, 20)).toBe(false);
  writer.close();
  await expect(written).rejects.toMatchObject(gone);
  await expect(writer.write('{}\n')).rejects.toMatchObject(gone);
});

it('survives a restart while the child holds its own end, and fails once the child dies', async () => {
  const folder = join(await temporaryFolder(), 'launch');
  await createLaunchFolder(folder);
  const ends = await openChildEnds(folder);
  const child = spawn('sleep', ['600'], { stdio: [ends.input.fd, ends.output.fd, ends.errors.fd] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  await ends.close();
  const first = openFifoWriter(launchFiles(folder).input);
  await first.write('{"before":"our own death"}\n');
  first.close();
  const second = openWriter(launchFiles(folder).input);
  await second.write('{"after":"a restart"}\n');
  child.kill('SIGKILL');
  await once(child, 'exit');
  await expect(second.write('{}\n')).rejects.toMatchObject(gone);
});
