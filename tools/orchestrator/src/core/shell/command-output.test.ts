import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { StageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { outputFile, tailOf } from './run-command.ts';

const open = async (limits?: { longest: number; kept: number }) => {
  const file = outputFile(await temporaryFolder(), StageId.parse('S1'), 'run', limits);
  await file.create();
  return file;
};

it('is read in pages, from a position on', async () => {
  const file = await open();
  expect(await file.read()).toEqual({ output: '', from: 0, to: 0, total: 0, isCut: false });
  await appendFile(file.path, 'one\n');
  expect(await file.read(0)).toEqual({ output: 'one\n', from: 0, to: 4, total: 4, isCut: false });
  await appendFile(file.path, 'two\n');
  expect(await file.read(4)).toMatchObject({ output: 'two\n', from: 4, to: 8 });
  expect(await file.read(99)).toMatchObject({ output: '', from: 8, to: 8 });
});

it('never cuts a character in two', async () => {
  const file = await open();
  await appendFile(file.path, Buffer.from('aü€😀').subarray(0, 8));
  expect(await file.read(0)).toMatchObject({ output: 'aü€', to: 6, total: 8 });
  await appendFile(file.path, Buffer.from('😀').subarray(2));
  expect(await file.read(6)).toMatchObject({ output: '😀', to: 10 });
  expect(await file.read(2)).toMatchObject({ output: '€😀', from: 3 });
});

it('drops the beginning of a long one, and goes on where it was', async () => {
  const file = await open({ longest: 10, kept: 4 });
  await appendFile(file.path, '0123456789ab');
  await file.bound();
  await appendFile(file.path, 'cd');
  expect(await file.read(0)).toEqual({ output: '89ab', from: 8, to: 12, total: 14, isCut: true });
  expect(await file.read(12)).toMatchObject({ output: 'cd', from: 12, total: 14, isCut: false });
  await appendFile(file.path, 'efghijklmnopqrst');
  await file.bound();
  expect(await file.read(14)).toMatchObject({ output: 'qrst', from: 26, total: 30, isCut: true });
  await file.remove();
  expect(await file.read()).toMatchObject({ output: '', total: 0 });
});

it('gives its end as plain lines', async () => {
  const file = await open();
  await appendFile(file.path, 'first line\n\u001b[31mred\u001b[0m\n10%\r50%\r100%\r\nlast\n');
  expect(await tailOf(file, 1_000)).toBe('first line\nred\n100%\nlast');
  expect(await tailOf(file, 8)).toBe('last');
});

it('is empty only if there is none: what cannot be read is an error', async () => {
  const file = await open();
  await mkdir(file.path);
  await expect(file.read(0)).rejects.toMatchObject({ code: 'EISDIR' });
});

it('is never in a wrong place after a crash while it was shortened', async () => {
  const file = await open({ longest: 10, kept: 4 });
  await appendFile(file.path, '0123456789ab');
  await file.bound();
  await appendFile(file.path, 'cdefghijklmn');
  const begin = file.path.slice(0, -'.log'.length);
  // Killed before the new end was put in place.
  await rm(`${begin}.old`);
  await writeFile(file.path, '');
  await writeFile(`${begin}.start`, '24');
  await appendFile(file.path, 'op');
  expect(await file.read(12)).toEqual({ output: 'op', from: 24, to: 26, total: 26, isCut: true });
});
