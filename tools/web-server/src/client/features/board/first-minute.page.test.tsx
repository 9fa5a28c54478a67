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
const home = { folder: folder('/home/ada'), parent: '/home', isCut: false };

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
        ? { folder: code, parent: '/home/ada', folders: [folder('/home/ada/code/shop', true)], isCut: false }
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

it('makes a login link for another device and a token for metrics, each with a button that copies it', async () => {
  const { user, server } = openPage('/', empty());
  const expiresAt = '2026-01-01T11:00:00.000Z';
  server.answer({
    get_logins: () => ({ logins: [], current: null }),
    create_login_code: () => ({ code: 'one time', expiresAt, publicUrl: null }),
    create_metrics_token: () => ({ token: 'for-prometheus' }),
  });
  await screen.findByRole('heading', { name: 'See the demo' });
  act(loginsDialog.open);
  await user.click(await screen.findByRole('button', { name: 'Add a device' }));
  await screen.findByText(/\/login\?code=one%20time$/);
  screen.getByRole('button', { name: 'Copy login link' });
  await user.click(screen.getByRole('button', { name: 'Make a token for metrics' }));
  await screen.findByText('for-prometheus');
  screen.getByRole('button', { name: 'Copy token for metrics' });
  expect(screen.queryByRole('img', { name: /QR code/ })).toBeNull(); // a phone cannot open this page's address

  screen.getByText(/^This link works on this machine only/);
  const publicUrl = 'https://callboard.example.com';
  server.answer({ create_login_code: () => ({ code: 'two', expiresAt, publicUrl }) });
  await user.click(screen.getByRole('button', { name: 'Make another link' }));
  await screen.findByText(`${publicUrl}/login?code=two`);
  expect(screen.queryByText(/^This link works on this machine only/)).toBeNull();
  const code = await screen.findByRole('img', { name: 'QR code of the login link' });
  expect(code.querySelector('path')?.getAttribute('d')).toBe(drawnBy(`${publicUrl}/login?code=two`));
});

/** The dark squares of a QR code, as the library's own drawing has them. */
const drawnBy = (text: string) =>
  / d="([^"]+)"/.exec(renderSVG(text, { border: 4, pixelSize: 1 }))?.[1]?.replaceAll(',', ' ');
