import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { forgetLogin, loginFile, readLogin, saveLogin } from './api-client.ts';

const login = (dataDir: string, token = 'secret') => ({ dataDir, address: 'http://127.0.0.1:3100', token });

it('keeps a login for each data directory, readable by this account alone', async () => {
  const place = { env: {}, home: await temporaryFolder() };
  await saveLogin(place, login('/a'));
  await saveLogin(place, login('/b'));
  await saveLogin(place, login('/a', 'newer'));
  expect(await readLogin(place, '/a')).toEqual(login('/a', 'newer'));
  expect(await readLogin(place, '/b')).toEqual(login('/b'));
  expect(await readLogin(place, '/c')).toBeNull();
  const file = loginFile(place);
  expect(file).toBe(join(place.home, '.config', 'callboard', 'credentials.json'));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(file))).mode & 0o777).toBe(0o700);
  await forgetLogin(place, '/a');
  await forgetLogin(place, '/b');
  expect(await readdir(dirname(file))).toEqual([]);
});

it('follows XDG_CONFIG_HOME', async () => {
  const home = await temporaryFolder();
  const place = { env: { XDG_CONFIG_HOME: join(home, 'conf') }, home };
  await saveLogin(place, login('/a'));
  expect(await readFile(join(home, 'conf', 'callboard', 'credentials.json'), 'utf8')).toContain('secret');
});

it.each([0o640, 0o604, 0o620])('refuses a file that others may use (mode %o)', async (mode) => {
  const place = { env: {}, home: await temporaryFolder() };
  await saveLogin(place, login('/a'));
  await chmod(loginFile(place), mode);
  await expect(readLogin(place, '/a')).rejects.toThrow('other users may read');
  await expect(saveLogin(place, login('/b'))).rejects.toThrow('other users may read');
});

it('refuses a damaged file, and replaces a link instead of writing through it', async () => {
  const place = { env: {}, home: await temporaryFolder() };
  const file = loginFile(place);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, '{', { mode: 0o600 });
  await expect(readLogin(place, '/a')).rejects.toThrow('is damaged. Remove it');
  const other = join(place.home, 'other');
  await writeFile(other, '{"logins":[]}', { mode: 0o600 });
  await rm(file);
  await symlink(other, file);
  await saveLogin(place, login('/a'));
  expect(await readFile(other, 'utf8')).toBe('{"logins":[]}');
});
