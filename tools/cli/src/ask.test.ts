import { expect, it } from 'vitest';
import { inTerminal } from '../../../test-support/in-terminal.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { until } from '../../../test-support/until.ts';
import { fixture } from '../test/cli-process.ts';
import { putProgram, SYSTEM_PATH } from '../test/programs.ts';

const QUESTION = 'Start anyway? Type yes to agree, once for this data directory: ';
/** The stand-in for the web server reads no certificate. */
const OPEN = [
  '--host',
  '0.0.0.0',
  '--public-url',
  'https://callboard.example.com',
  '--tls-cert',
  'a',
  '--tls-key',
  'b',
];

it('asks on a terminal whether logins are trusted where no session can be isolated, and takes only a yes', async () => {
  const dataDir = await temporaryFolder();
  const bin = await temporaryFolder();
  await putProgram(bin, 'bwrap', 'echo "bwrap: no user namespaces here" >&2; exit 1');
  const env = { ...process.env, INIT_CWD: '', PATH: `${bin}:${SYSTEM_PATH}` };
  const place = ['--data-dir', dataDir, '--port', '0', '--orchestrator-port', '0', '--no-open'];
  const text = [process.execPath, fixture('callboard.js'), 'start', ...place, ...OPEN];
  const start = () => inTerminal(text.join(' '), env);
  const sees = ({ said }: ReturnType<typeof start>, text: string) =>
    until(`the terminal shows ${text}`, () => said().includes(text), { lastSeen: said });

  const refused = start();
  await sees(refused, QUESTION);
  expect(refused.said()).toContain('Whoever logs in at https://callboard.example.com can run any command here as you');
  refused.press('yess\x7f\x7f\x7f\x7fno\r'); // the line is edited as everywhere
  expect(await refused.ended).toBe(2);
  expect(refused.said()).toContain('--host: not agreed, so nothing was started.');

  const left = start();
  await sees(left, QUESTION);
  left.press('\x03');
  expect(await left.ended).toBe(0);

  const agreed = start();
  await sees(agreed, QUESTION);
  agreed.press('yes\r');
  await sees(agreed, 'Callboard ready: https://callboard.example.com/login');
  agreed.press('\x03');
  expect(await agreed.ended).toBe(0);

  const again = start();
  await sees(again, 'Callboard ready: ');
  expect(again.said()).not.toContain(QUESTION);
  again.press('\x03');
  expect(await again.ended).toBe(0);
});

it('asks on a terminal whether the repository it is started in becomes a project, until it is answered', async () => {
  const place = ['--data-dir', await temporaryFolder(), '--port', '0', '--orchestrator-port', '0', '--no-open'];
  const command = [process.execPath, fixture('callboard.js'), 'start', ...place].join(' ');
  const start = () => inTerminal(command, { ...process.env, INIT_CWD: '', REPOSITORY: '/code/till' });
  const sees = ({ said }: ReturnType<typeof start>, text: string) =>
    until(`the terminal shows ${text}`, () => said().includes(text), { lastSeen: said });
  const question = 'Add /code/till as a project? [Y/n] ';
  const ADDED = 'added /code/till as a project.';

  const first = start();
  await sees(first, question);
  first.press('maybe\r');
  await sees(first, 'callboard: "maybe" is neither y nor n.');
  first.press('\r');
  await sees(first, ADDED);
  await sees(first, 'press l for another login link');
  first.press('\x03');
  expect(await first.ended).toBe(0);

  for (const no of ['n\r', '\x04']) {
    const refused = start();
    await sees(refused, question);
    refused.press(no);
    await sees(refused, 'Callboard ready: ');
    refused.press('\x03');
    expect(await refused.ended).toBe(0);
    expect(refused.said()).not.toContain(ADDED);
  }
});
