import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../test/temporary-folder.ts';
import { openBrowser, wantsBrowser } from './browser.ts';

const desktop = { env: { DISPLAY: ':0' }, isTerminal: true, platform: 'linux' } as const;

it('opens a browser where a person sits before a desktop, and nowhere else', () => {
  expect(wantsBrowser(null, desktop)).toBe(true);
  expect(wantsBrowser(null, { ...desktop, env: {} })).toBe(false);
  expect(wantsBrowser(null, { ...desktop, env: { DISPLAY: ':0', CI: 'true' } })).toBe(false);
  expect(wantsBrowser(null, { ...desktop, isTerminal: false })).toBe(false);
  expect(wantsBrowser(null, { ...desktop, platform: 'darwin', env: {} })).toBe(true);
  expect(wantsBrowser(null, { ...desktop, platform: 'darwin', env: { SSH_CONNECTION: 'x' } })).toBe(false);
});

it('does what the user said, whatever there is', () => {
  expect(wantsBrowser(false, desktop)).toBe(false);
  expect(wantsBrowser(true, { ...desktop, env: {} })).toBe(true);
});

it('hands the page to the opener of the system', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'xdg-open'), '#!/bin/sh\necho "$1" > "$OPENED"\n');
  await chmod(join(folder, 'xdg-open'), 0o755);
  const env = { PATH: `${folder}:/usr/bin:/bin`, OPENED: join(folder, 'opened') };
  expect(await openBrowser('http://127.0.0.1:1/', 'linux', env)).toBe(true);
  expect(await readFile(env.OPENED, 'utf8')).toBe('http://127.0.0.1:1/\n');
});

it('says so when there is no opener', async () => {
  expect(await openBrowser('http://127.0.0.1:1/', 'linux', { PATH: await temporaryFolder() })).toBe(false);
});
