import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { encode } from 'uqr';
import { beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { eventually } from '../../../test-support/until.ts';
import { openBrowser, printQrCode, showBoard, wantsBrowser } from './login-links.ts';
import { nodePlatform } from './platform.ts';

const desktop = { env: { DISPLAY: ':0' }, isTerminal: true, platform: 'linux' } as const;

it('opens a browser only on a desktop with a person in front of it', () => {
  expect(wantsBrowser(null, desktop)).toBe(true);
  expect(wantsBrowser(null, { ...desktop, env: {} })).toBe(false);
  expect(wantsBrowser(null, { ...desktop, env: { DISPLAY: ':0', CI: 'true' } })).toBe(false);
  expect(wantsBrowser(null, { ...desktop, isTerminal: false })).toBe(false);
  expect(wantsBrowser(null, { ...desktop, platform: 'darwin', env: {} })).toBe(true);
  expect(wantsBrowser(null, { ...desktop, platform: 'darwin', env: { SSH_CONNECTION: 'x' } })).toBe(false);
});

it("obeys the user's choice in any environment", () => {
  expect(wantsBrowser(false, desktop)).toBe(false);
  expect(wantsBrowser(true, { ...desktop, env: {} })).toBe(true);
});

/** An opener that records its arguments, then runs the script. */
async function withOpener(script = '') {
  const folder = await temporaryFolder();
  await writeFile(
    join(folder, 'xdg-open'),
    `#!/bin/sh\necho "$@" > "$OPENED.new"; mv "$OPENED.new" "$OPENED"\n${script}\n`,
  );
  await chmod(join(folder, 'xdg-open'), 0o755);
  return { PATH: `${folder}:/usr/bin:/bin`, OPENED: join(folder, 'opened') };
}

it("passes the file to the system's opener", async () => {
  const env = await withOpener();
  expect(await openBrowser('/tmp/a.html', 'linux', env)).toBe(true);
  expect(await readFile(env.OPENED, 'utf8')).toBe('/tmp/a.html\n');
});

it('resolves with false if there is no opener', async () => {
  expect(await openBrowser('/tmp/a.html', 'linux', { PATH: await temporaryFolder() })).toBe(false);
});

/** What a terminal of this width shows of a link's QR code, as modules: true is dark. */
function modulesOf(link: string, terminal: { isTerminal: boolean; columns: () => number }) {
  const lines: string[] = [];
  printQrCode(link, { ...nodePlatform(process), ...terminal, out: (line) => void lines.push(line) });
  const rows = lines.flatMap((text) => text.split('\n'));
  return rows.flatMap((row) => {
    const [begin = '', blocks = '', end = ''] = row.split(/([ ▀▄█]+)/);
    expect([begin, end]).toEqual(['\x1b[38;5;16;48;5;231m', '\x1b[0m']); // black on white, then as before
    return ['▀█', '▄█'].map((dark) => [...blocks].map((block) => dark.includes(block)));
  });
}

it('draws a link that a phone can open as a QR code in half blocks', () => {
  const link = 'https://callboard.example.com/login?code=the-c0de';
  const { data, size } = encode(link, { border: 4 });
  const wide = { isTerminal: true, columns: () => size };
  expect(modulesOf(link, wide).slice(0, size)).toEqual(data);
  expect(modulesOf(link, { ...wide, columns: () => size - 1 })).toEqual([]);
  expect(modulesOf(link, { ...wide, isTerminal: false })).toEqual([]);
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    expect(modulesOf(`https://${host}/login?code=the-c0de`, { ...wide, columns: () => 200 })).toEqual([]);
});

const LINK = 'http://127.0.0.1:3100/login?code=the-c0de';
let place = '';
beforeEach(async () => {
  place = await temporaryFolder();
});

const filesLeft = async () => (await readdir(place)).filter((name) => name.startsWith('callboard-open-'));

async function show(env: Record<string, string>) {
  const said: string[] = [];
  const platform = {
    ...nodePlatform(process),
    env,
    platform: 'linux' as const,
    err: (line: string) => void said.push(line),
  };
  const followed = Promise.withResolvers<void>();
  const stop = new AbortController();
  const shown = showBoard({ link: LINK, folder: place, followed: followed.promise, stop: stop.signal }, platform);
  return { said, shown, follow: followed.resolve, stop: () => stop.abort() };
}

const openedFile = (env: { OPENED: string }) => eventually(async () => (await readFile(env.OPENED, 'utf8')).trim());

it('gives the browser a private file that redirects to the link, and passes the link to no process', async () => {
  const env = await withOpener('sleep 60 & echo $! > "$OPENED.pid"; wait');
  const { said, shown, follow } = await show(env);
  const file = await openedFile(env);
  expect(file).not.toContain('the-c0de');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(file))).mode & 0o777).toBe(0o700);
  expect(await readFile(file, 'utf8')).toContain(`<meta http-equiv="refresh" content="0; url=${LINK}">`);
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    expect(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).not.toContain('the-c0de');
  }
  follow();
  await shown;
  expect(await filesLeft()).toEqual([]);
  expect(said).toEqual([]);
  const pid = () => readFile(`${env.OPENED}.pid`, 'utf8').catch(() => '');
  await expect.poll(pid).toMatch(/^\d+\n$/); // the opener writes it after the file was opened
  process.kill(Number(await pid()));
});

it('asks to open the printed link if nobody has followed it within five seconds, and removes the file', async () => {
  const env = await withOpener();
  const begun = performance.now();
  const { said, shown } = await show(env);
  await openedFile(env);
  await shown;
  expect(performance.now() - begun).toBeGreaterThanOrEqual(4_900);
  expect(said).toEqual(['callboard: no browser has opened the board yet; open the printed link in one.']);
  expect(await filesLeft()).toEqual([]);
});

it('reports a missing browser at once, and leaves no file when stopped', async () => {
  const without = await show({ PATH: await temporaryFolder() });
  await without.shown;
  expect(without.said).toEqual(['callboard: no browser could be opened; open the printed link in one.']);
  const env = await withOpener();
  const { said, shown, stop } = await show(env);
  await openedFile(env);
  stop();
  await shown;
  expect(said).toEqual([]);
  expect(await filesLeft()).toEqual([]);
});
