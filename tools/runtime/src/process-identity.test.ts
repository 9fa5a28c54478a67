import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { identify, isAlive, parseProcStat, selfIdentity } from './process-identity.ts';

const FIELDS = Array.from({ length: 50 }, (_, index) => String(100 + index)).join(' ');
const stat = (name: string, state: string) => `4242 (${name}) ${state} ${FIELDS}`;

it.each(['node', 'tmux: server', '(sd-pam)', 'a) b', 'x) Z 1 2', ') (', '', 'S'])(
  'reads the start time of a process called "%s"',
  (name) => {
    expect(parseProcStat(stat(name, 'S'))).toBe('118');
  },
);

it.each(['Z', 'X', 'x'])('finds no start time for a process in state %s, which is dead', (state) => {
  expect(parseProcStat(stat('node', state))).toBeNull();
});

it.each(['R', 'S', 'D', 'T', 't', 'I'])('finds a start time in state %s', (state) => {
  expect(parseProcStat(stat('node', state))).toBe('118');
});

it.each(['', '4242', '4242 (node)', '4242 (node) S 1 2'])('finds none in a truncated line: "%s"', (text) => {
  expect(parseProcStat(text)).toBeNull();
});

const pidOf = (child: ChildProcess): number => child.pid ?? Number.NaN;

/** A child that lives until it is killed. */
async function living(): Promise<ChildProcess> {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child;
}

it('recognizes a process while it lives, and not after its death', async () => {
  const child = await living();
  const identity = await identify(pidOf(child));
  expect(identity).not.toBeNull();
  if (identity === null) return;
  expect(await isAlive(identity)).toBe(true);
  expect(await identify(pidOf(child))).toEqual(identity);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await isAlive(identity)).toBe(false);
  expect(await identify(identity.pid)).toBeNull();
});

it('does not mistake it for another process of the same pid, or of another boot', async () => {
  const self = await selfIdentity();
  expect(self.pid).toBe(process.pid);
  expect(await isAlive(self)).toBe(true);
  expect(await isAlive({ ...self, startTime: 'another' })).toBe(false);
  expect(await isAlive({ ...self, bootId: 'another' })).toBe(false);
});

it.runIf(process.platform === 'linux')('counts a zombie as dead', async () => {
  // The shell becomes the sleeping program, which does not know the shell's child and never reaps it.
  const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(String(line));
  // While it is still a shell, it reaps its child.
  const commandOf = (of: number | undefined) => readFile(`/proc/${of}/cmdline`, 'utf8');
  await expect.poll(async () => (await commandOf(parent.pid)).startsWith('sleep')).toBe(true);
  const identity = await identify(pid);
  expect(identity).not.toBeNull();
  process.kill(pid, 'SIGKILL');
  await expect.poll(async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).includes(') Z ')).toBe(true);
  expect(await identify(pid)).toBeNull();
  if (identity !== null) expect(await isAlive(identity)).toBe(false);
});

it('throws instead of reporting a process as dead when it cannot look', async () => {
  const program = `
    import { openSync } from 'node:fs';
    const { isAlive, selfIdentity } = await import(process.argv[1]);
    const self = await selfIdentity();
    await isAlive(self);
    try { for (;;) openSync('/dev/null'); } catch {}
    process.stdout.write(await isAlive(self).then(String, ({ code }) => code));
  `;
  const module = new URL('process-identity.ts', import.meta.url).href;
  const args = ['-c', 'ulimit -n 60 && exec "$0" --input-type=module -e "$1" "$2"', process.execPath, program, module];
  const { stdout } = await promisify(execFile)('sh', args);
  expect(stdout).toBe('EMFILE');
});
