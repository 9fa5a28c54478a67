import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../test/open-page.tsx';
import { problem } from '../test/page-server.ts';
import { board, session, stage } from '../test/samples.ts';

const first = stage('STAGE-1', { title: 'Login form' });
const waiting = stage('STAGE-2', { title: 'Emails', dependsOn: [first.id] });
const done = stage('STAGE-3', { title: 'Pictures', completedAt: first.createdAt });
const all = () =>
  board({ stages: [{ stage: first }, { stage: waiting }, { stage: done, session: session('STAGE-3') }] });

/** Presses Start of the only stage that is ready, and returns what says that it failed. */
async function failToStart(refusal: Response) {
  const page = openPage('/', all());
  let tries = 0;
  page.server.answer({
    start_stage: () => {
      tries += 1;
      return tries === 1 ? refusal : { stage: { ...first, column: 'running', session: null } };
    },
  });
  const ready = await screen.findByRole('region', { name: 'Ready' });
  await page.user.click(await within(ready).findByRole('button', { name: 'Start' }));
  return { ...page, failure: await screen.findByRole('alert') };
}

it('tries again where a command failed for what can be mended, and then says no more of it', async () => {
  const text = 'The worktree was not created. The disk is full. Free some space, then try again.';
  const { user, server, failure } = await failToStart(problem('worktree_failed', `${text}\nfatal: No space left`));
  within(failure).getByText(text);
  expect(within(failure).getByText('Details').closest('details')?.open).toBe(false);
  await user.click(within(failure).getByRole('button', { name: 'Try again' }));
  await expect.poll(() => server.received.filter(({ command }) => command === 'start_stage')).toHaveLength(2);
  await expect.poll(() => screen.queryByText(text)).toBeNull();
});

it('opens the form of a stage whose branch is taken', async () => {
  const { user, failure } = await failToStart(problem('branch_taken', 'The branch feature/x exists already.'));
  await user.click(within(failure).getByRole('button', { name: 'Edit the stage' }));
  await screen.findByRole('dialog', { name: 'Edit Login form' });
});

it('leads to the stage whose session has to be looked at', async () => {
  const { user, failure } = await failToStart(problem('session_alarm', 'The session is under alarm.'));
  await user.click(within(failure).getByRole('link', { name: 'Show the stage' }));
  expect(location.pathname).toBe('/stages/STAGE-1');
});

it('shows the command that installs Claude Code, with a button that copies it', async () => {
  const claude = { state: 'missing', why: 'Claude Code was not found.', command: 'npm i -g claude' } as const;
  const page = openPage('/', { ...all(), claude });
  page.server.answer({ start_stage: () => problem('claude_missing', 'There is no claude here.') });
  const ready = await screen.findByRole('region', { name: 'Ready' });
  await page.user.click(await within(ready).findByRole('button', { name: 'Start' }));
  const failure = (await screen.findByText('There is no claude here.')).closest('[role="alert"]');
  within(failure as HTMLElement).getByText('npm i -g claude');
  within(failure as HTMLElement).getByRole('button', { name: 'Copy command' });
});

it('reads again what could not be read', async () => {
  const { user, server } = openPage('/trash', all());
  server.answer({ get_trash: () => problem('internal', 'The store cannot be read.') });
  const failure = await screen.findByText(/The trash could not be read\. The store cannot be read\./);
  server.answer({ get_trash: () => ({ entries: [] }) });
  await user.click(screen.getByRole('button', { name: 'Try again' }));
  await expect.poll(() => failure.isConnected).toBe(false);
});

it('says of an address without a stage or a page that there is none, and leads to the board', async () => {
  const { user } = openPage('/stages/STAGE-99', all());
  await screen.findByRole('heading', { name: 'There is no stage STAGE-99' });
  await user.click(screen.getByRole('link', { name: 'Go to the board' }));
  expect(location.pathname).toBe('/');
  openPage('/nowhere', all());
  await screen.findByRole('heading', { name: 'Page not found' });
});
