import type { Pairing } from '@callboard/contract';
import { act, screen, within } from '@testing-library/react';
import { renderSVG } from 'uqr';
import { expect, it } from 'vitest';
import { loginsDialog } from '../../data/dialogs.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, stage } from '../../test/samples.ts';

const empty = () => board({ stages: [] });
const folder = (path: string, isRepository = false) => ({
  path,
  name: path.slice(path.lastIndexOf('/') + 1),
  isRepository,
});
const home = { folder: folder('/home/ada'), parent: '/home', here: null, isCut: false };

it('shows three doors above an empty board, and what this machine lacks with its command', async () => {
  const why = 'Claude is not logged in on this machine.';
  openPage('/', { ...empty(), claude: { state: 'not-logged-in', why, command: 'claude' } });
  await screen.findByRole('heading', { name: 'Your first repository' });
  screen.getByRole('heading', { name: 'See the demo' });
  const machine = screen.getByRole('heading', { name: 'Check this machine' }).parentElement;
  within(machine ?? document.body).getByText('claude', { selector: 'code' });
  expect(screen.queryByRole('dialog')).toBeNull();
});

it('lists folders, opens one, and takes over the path of a repository', async () => {
  const { user, server } = openPage('/', empty());
  const code = folder('/home/ada/code');
  server.answer({
    list_folders: ({ path }) =>
      path === code.path
        ? {
            folder: code,
            parent: '/home/ada',
            folders: [folder('/home/ada/code/shop', true)],
            here: null,
            isCut: false,
          }
        : { ...home, folders: [code] },
  });
  await user.click(await screen.findByRole('button', { name: 'Choose a repository' }));
  const folders = await screen.findByRole('region', { name: 'Folders' });
  await user.click(within(folders).getByRole('button', { name: /code/ }));
  const shop = await screen.findByRole('button', { name: /shop/ });
  await user.click(shop);
  expect(shop.getAttribute('aria-pressed')).toBe('true');
  expect(screen.getByRole('textbox', { name: 'Path' })).toHaveProperty('value', '/home/ada/code/shop');
});

it('begins with the repository in which Callboard was started, and says above the list that a folder is empty', async () => {
  const { user, server } = openPage('/', empty());
  const attic = folder('/home/ada/attic');
  const till = folder('/srv/till', true);
  server.answer({
    list_folders: ({ path }) =>
      path === attic.path
        ? { ...home, folder: attic, folders: [] }
        : { ...home, folders: [till, attic], here: till.path },
  });
  await user.click(await screen.findByRole('button', { name: 'Choose a repository' }));
  const [first] = within(await screen.findByRole('region', { name: 'Folders' })).getAllByRole('listitem');
  await user.click(within(first ?? document.body).getByRole('button', { name: /^Here: \/srv\/till/ }));
  expect(screen.getByRole('textbox', { name: 'Path' })).toHaveProperty('value', till.path);
  await user.click(screen.getByRole('button', { name: /attic/ }));
  const note = await screen.findByText('No folders here.');
  const list = within(screen.getByRole('region', { name: 'Folders' })).getByRole('list');
  expect(note.compareDocumentPosition(list)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
});

it('says why a folder cannot be listed, and goes back to the home folder', async () => {
  const { user, server } = openPage('/', empty());
  const locked = folder('/home/ada/locked');
  server.answer({
    list_folders: ({ path }) =>
      path === undefined ? { ...home, folders: [locked] } : problem('folder_unreadable', 'Callboard may not read it.'),
  });
  await user.click(await screen.findByRole('button', { name: 'Choose a repository' }));
  await user.click(await screen.findByRole('button', { name: /locked/ }));
  await screen.findByText('Callboard may not read it.');
  expect(screen.queryByRole('button', { name: 'Try again' })).toBeNull();
  await user.click(screen.getByRole('button', { name: 'Back to the home folder' }));
  await screen.findByRole('button', { name: /locked/ });
});

it('puts the cause of a failed start first, and folds git’s own words', async () => {
  const text = 'The worktree was not created. The disk is full. Free some space, then try again.';
  const { user, server } = openPage('/', board({ stages: [{ stage: stage('STAGE-1') }] }));
  server.answer({ start_stage: () => problem('worktree_failed', `${text}\nfatal: No space left on device`) });
  await user.click(await screen.findByRole('button', { name: 'Start' }));
  await screen.findByText(text);
  expect(screen.getByText('Details').closest('details')?.open).toBe(false);
  screen.getByText('fatal: No space left on device');
});

/** Where this page is, as if Callboard's machine listened there. */
const PORT = location.port || '80';
const START = PORT === '3100' ? 'npx callboard start' : `npx callboard start --port ${PORT}`;

const expiresAt = '2026-01-01T11:00:00.000Z';
const desk = { sshTarget: 'ada@desk', startCommand: 'npx callboard start', tailscale: null };

/** The dialog after a press on "Add a device", which is answered with this. */
async function addDevice(reply: { publicUrl: string | null; pairing: Pairing | null }) {
  const { user, server } = openPage('/', empty());
  const answer = (code: string, given: typeof reply) =>
    server.answer({ create_login_code: () => ({ code, expiresAt, ...given }) });
  answer('one time', reply);
  server.answer({
    get_logins: () => ({ logins: [], current: null }),
    create_metrics_token: () => ({ token: 'for-prometheus' }),
  });
  await screen.findByRole('heading', { name: 'See the demo' });
  act(loginsDialog.open);
  await user.click(await screen.findByRole('button', { name: 'Add a device' }));
  return { user, answer };
}

it('makes a login link for another device and a token for metrics, each with a button that copies it', async () => {
  const { user, answer } = await addDevice({ publicUrl: null, pairing: desk });
  await screen.findByText(/\/login\?code=one%20time$/);
  screen.getByRole('button', { name: 'Copy login link' });
  await user.click(screen.getByRole('button', { name: 'Make a token for metrics' }));
  await screen.findByText('for-prometheus');
  screen.getByRole('button', { name: 'Copy token for metrics' });
  expect(screen.queryByRole('img', { name: /QR code/ })).toBeNull(); // a phone cannot open this page's address

  screen.getByText(/^A phone cannot open this link/);
  const publicUrl = 'https://callboard.example.com';
  answer('two', { publicUrl, pairing: null });
  await user.click(screen.getByRole('button', { name: 'Make another link' }));
  await screen.findByText(`${publicUrl}/login?code=two`);
  expect(screen.queryByText(/^A phone cannot open this link/)).toBeNull();
  expect(screen.queryByRole('region', { name: 'SSH tunnel' })).toBeNull();
  const code = await screen.findByRole('img', { name: 'QR code of the login link' });
  expect(code.querySelector('path')?.getAttribute('d')).toBe(drawnBy(`${publicUrl}/login?code=two`));

  answer('three', { publicUrl: 'http://localhost:8100', pairing: null }); // of a tunnel
  await user.click(screen.getByRole('button', { name: 'Make another link' }));
  await screen.findByText(/^A phone cannot open this link/);
  expect(screen.queryByRole('img', { name: /QR code/ })).toBeNull();
});

/** The commands that a way to reach this machine offers, each with a button that copies it. */
async function commandsOf(name: string) {
  const way = within(await screen.findByRole('region', { name }));
  const copied = way.getAllByRole('button', { name: /^Copy / });
  return copied.map((button) => button.closest('div')?.querySelector('code')?.textContent);
}

it('offers a tunnel and a certificate where there is nothing else, and to a demo only the tunnel', async () => {
  const { user, answer } = await addDevice({ publicUrl: null, pairing: desk });
  expect(await commandsOf('SSH tunnel')).toEqual([`ssh -L ${PORT}:127.0.0.1:${PORT} ada@desk`]);
  expect(await commandsOf('A certificate')).toEqual([
    `${START} --host 0.0.0.0 --public-url https://callboard.example.com:${PORT} --tls-cert cert.pem --tls-key key.pem`,
  ]);
  expect(screen.queryByRole('region', { name: 'Tailscale' })).toBeNull();
  const name = 'desk.tail1234.ts.net';
  answer('two', { publicUrl: null, pairing: { ...desk, startCommand: null, tailscale: { name, serves: [] } } });
  await user.click(screen.getByRole('button', { name: 'Make another link' }));
  await screen.findByText(/code=two$/);
  expect(await commandsOf('SSH tunnel')).toHaveLength(1);
  for (const way of ['Tailscale', 'A certificate']) expect(screen.queryByRole('region', { name: way })).toBeNull();
});

it.each([
  ['nothing yet', [], ['tailscale serve --bg'], ''],
  ['another program', [{ port: 443, target: 'http://127.0.0.1:8080' }], ['tailscale serve --bg --https=8443'], ':8443'],
  ['this Callboard already', [{ port: 443, target: `http://127.0.0.1:${PORT}` }], [], ''],
  ['it at another port', [{ port: 8443, target: `http://localhost:${PORT}` }], [], ':8443'],
])('offers Tailscale where it serves %s', async (_what, serves, serve, port) => {
  const name = 'desk.tail1234.ts.net';
  await addDevice({ publicUrl: null, pairing: { ...desk, tailscale: { name, serves } } });
  expect(await commandsOf('Tailscale')).toEqual([
    ...serve.map((command) => `${command} ${PORT}`),
    `${START} --behind-proxy 127.0.0.1 --public-url https://${name}${port}`,
  ]);
});

/** The dark squares of a QR code, as the library's own drawing has them. */
const drawnBy = (text: string) =>
  / d="([^"]+)"/.exec(renderSVG(text, { border: 4, pixelSize: 1 }))?.[1]?.replaceAll(',', ' ');
