import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inTerminal } from '../../../../test-support/in-terminal.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { eventually } from '../../../../test-support/until.ts';
import { fixture, runProgram } from '../../test/cli-process.ts';
import { runHere } from '../../test/run-here.ts';

const callboard = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  runProgram(process.execPath, [fixture('callboard.js'), ...args], { ...process.env, INIT_CWD: '', ...env });

const PORTS = ['--port', '0', '--orchestrator-port', '0'];
const LINK = /http:\/\/127\.0\.0\.1:\d+\/login\?code=one%2Ftime/;

async function startOn(dataDir: string, env: NodeJS.ProcessEnv = {}) {
  const program = callboard(['start', '--data-dir', dataDir, ...PORTS], env);
  await eventually(() => expect(program.stdout()).toMatch(LINK));
  const end = async () => {
    program.child.kill('SIGTERM');
    await program.ended;
  };
  return { program, end };
}

it.each([
  ['', 'data'],
  [' under a long path', join('x'.repeat(90), 'y'.repeat(90))],
])('prints a link of the Callboard that runs%s, through a socket of this account alone', async (_, path) => {
  const dataDir = join(await temporaryFolder(), path);
  await mkdir(dataDir, { recursive: true });
  const { end } = await startOn(dataDir);
  const socket = await stat(join(dataDir, 'run', 'control.sock'));
  expect([socket.isSocket(), socket.mode & 0o777]).toEqual([true, 0o600]);
  for (let times = 0; times < 2; times++) {
    const asked = callboard(['link', '--data-dir', dataDir]);
    expect(await asked.ended).toBe(0);
    expect(asked.stdout()).toMatch(new RegExp(`^${LINK.source}\n$`));
    expect(asked.stderr()).toBe('');
  }
  await end();
  await expect(stat(join(dataDir, 'run', 'control.sock'))).rejects.toThrow('ENOENT');
});

it('works after a supervisor was killed', async () => {
  const dataDir = await temporaryFolder();
  const first = await startOn(dataDir);
  first.program.child.kill('SIGKILL');
  await first.program.ended;
  const { end } = await startOn(dataDir);
  const asked = callboard(['link', '--data-dir', dataDir]);
  expect(await asked.ended).toBe(0);
  await end();
});

it('says what to do if no Callboard runs, and why there is no link', async () => {
  const dataDir = await temporaryFolder();
  const none = callboard(['link', '--data-dir', dataDir]);
  expect(await none.ended).toBe(1);
  expect(none.stdout()).toBe('');
  expect(none.stderr()).toBe(
    `callboard: no Callboard runs on ${dataDir}. A demo names its own data directory, for --data-dir. Or start one, which prints a link: npx callboard start --data-dir ${dataDir}\n`,
  );
});

it('prints another link for the key l in a terminal, where Ctrl-C still stops it', async () => {
  const dataDir = await temporaryFolder();
  const command = [process.execPath, fixture('callboard.js'), 'start', '--no-open', '--data-dir', dataDir, ...PORTS];
  const terminal = inTerminal(command.join(' '), { ...process.env, INIT_CWD: '' });
  await eventually(() => expect(terminal.said()).toContain('press l for another login link'));
  terminal.press('xl');
  await eventually(() => expect(terminal.said()).toMatch(new RegExp(`Login link: ${LINK.source}`)));
  terminal.press('\x03');
  expect(await terminal.ended).toBe(0);
  expect(terminal.said()).toContain('stopped. Running sessions stay alive');
});

it('prints the QR code of each link that a phone can open in a terminal', async () => {
  const dataDir = await temporaryFolder();
  const open = ['--public-url', 'https://callboard.example.com', '--behind-proxy', '127.0.0.1', '--trust-logins'];
  const place = ['--no-open', '--data-dir', dataDir, ...PORTS, ...open];
  const command = [process.execPath, fixture('callboard.js'), 'start', ...place];
  const terminal = inTerminal(command.join(' '), { ...process.env, INIT_CWD: '' });
  const drawn = (text: string) =>
    text.replaceAll('\r', '').split('/login?code=one%2Ftime\n\x1b[38;5;16;48;5;231m').length - 1;
  await eventually(() => expect(terminal.said()).toContain('press l for another login link'));
  expect(drawn(terminal.said())).toBe(1);
  terminal.press('l');
  await eventually(() => expect(drawn(terminal.said())).toBe(2));
  const link = (isTerminal: boolean) => runHere(['link', '--data-dir', dataDir], { isTerminal, columns: () => 80 });
  expect(drawn((await link(true)).out)).toBe(1);
  expect((await link(false)).out).toBe('https://callboard.example.com/login?code=one%2Ftime');
  terminal.press('\x03');
  expect(await terminal.ended).toBe(0);
});
