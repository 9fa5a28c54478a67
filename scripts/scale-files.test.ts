/** The files that docs/scale.md gives, read by the programs that they are for. */
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../test-support/temporary-folder.ts';
import { findProgram } from './debian.ts';

/** Returns the first block of a language on the page. */
async function blockOf(language: string): Promise<string> {
  const page = await readFile(join(import.meta.dirname, '..', 'docs', 'scale.md'), 'utf8');
  const [, block = ''] = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  expect(block).not.toBe('');
  return block;
}

const [systemd, compose] = [findProgram('systemd-analyze'), findProgram('docker-compose')];
const lackOf = (program: string, path: string | undefined) => (path === undefined ? ` (needs ${program})` : '');

it.skipIf(systemd === undefined)(`systemd takes the unit${lackOf('systemd-analyze', systemd)}`, async () => {
  const unit = await blockOf('ini');
  expect(unit).toContain('KillMode=process'); // else a restart ends all sessions
  const folder = await temporaryFolder();
  const path = join(folder, 'callboard.service');
  // The program need not be installed to check the rest; nor need what systemd itself brings with it.
  await writeFile(path, unit.replace('/usr/local/bin/callboard', '/bin/true'));
  const { status, stderr } = spawnSync(systemd ?? '', ['verify', '--man=no', path], { encoding: 'utf8' });
  expect([status, stderr.split('\n').filter((line) => line.includes('callboard.service'))]).toEqual([0, []]);
  await writeFile(path, unit.replace('KillMode=process', 'KillMode=nothing'));
  const wrong = spawnSync(systemd ?? '', ['verify', '--man=no', path], { encoding: 'utf8' });
  expect(wrong.stderr).toContain('kill mode'); // it would say so
});

it.skipIf(compose === undefined)(
  `Compose takes the file of the database${lackOf('docker-compose', compose)}`,
  async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'db'));
    await writeFile(join(folder, 'db', 'compose.yaml'), await blockOf('yaml'));
    await writeFile(join(folder, 'db', 'password'), 'secret');
    const args = ['--file', join(folder, 'db', 'compose.yaml'), 'config'];
    const { status, stdout, stderr } = spawnSync(compose ?? '', args, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('POSTGRES_PASSWORD_FILE: /run/secrets/password');
    expect(stdout).toContain('127.0.0.1:5432:5432');
  },
);
