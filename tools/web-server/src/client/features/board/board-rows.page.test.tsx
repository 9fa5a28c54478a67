import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { at, board, request, session, stage } from '../../test/samples.ts';

const focused = () => document.activeElement?.textContent;
const column = (name: string) => screen.findByRole('region', { name });
const since = at(0);
const running = (now: object | null) => session('STAGE-1', { state: 'busy', now });

it('says what Claude does this moment: what it writes while it writes, and the command that runs', async () => {
  const view = board({ stages: [{ stage: stage('STAGE-1'), session: running({ kind: 'thinking', since }) }] });
  const { server } = openPage('/', view);
  const region = await column('Running');
  await within(region).findByText('thinking');
  server.pass('session-now', { stageId: stage('STAGE-1').id, now: { kind: 'writing', text: 'The index is' } });
  await within(region).findByText('The index is');
  const now = { kind: 'tool', toolUseId: 'u1', action: 'npm test', isCommand: true, since };
  server.emit('session-updated', running(now));
  await within(region).findByText('npm test');
  expect(within(region).queryByText('The index is')).toBeNull();
  // The text of the step before does not come back.
  server.emit('session-updated', running({ kind: 'thinking', since }));
  await within(region).findByText('thinking');
});

it('moves with J and K from the first key on, to whoever calls first', async () => {
  const { user } = openPage(
    '/',
    board({
      stages: [
        { stage: stage('STAGE-1', { title: 'Ready one' }) },
        { stage: stage('STAGE-2', { title: 'Ready two', priority: 3 }) },
        { stage: stage('STAGE-3', { title: 'Calling' }), session: session('STAGE-3', { state: 'waiting' }) },
      ],
      pending: [request('STAGE-3', 'r1', { kind: 'question', toolName: 'AskUserQuestion' })],
    }),
  );
  // The request opens over the board, and takes all keys until it is gone.
  await screen.findByRole('dialog');
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  await user.keyboard('j');
  await expect.poll(focused).toBe('Calling');
  await user.keyboard('{ArrowLeft}');
  await expect.poll(focused).toBe('Ready one');
  await user.keyboard('j');
  await expect.poll(focused).toBe('Ready two');
  await user.keyboard('k');
  await expect.poll(focused).toBe('Ready one');
});

it('starts the stage in hand with S, but shows the list with G S', async () => {
  const ready = stage('STAGE-1', { title: 'Login form' });
  const { user, server } = openPage('/', board({ stages: [{ stage: ready }] }));
  await within(await column('Ready')).findByText('Login form');
  server.answer({ start_stage: () => ({ stage: { ...ready, column: 'running', session: null } }) });
  await user.keyboard('j');
  await expect.poll(focused).toBe('Login form');
  await user.keyboard('s');
  await expect.poll(() => server.received).toMatchObject([{ command: 'start_stage', input: { stageId: 'STAGE-1' } }]);
  await user.keyboard('gs');
  await screen.findByRole('table');
  expect(server.received).toHaveLength(1);
});

it('acts on several picked stages together, and deletes them after one question that names them', async () => {
  const stages = ['STAGE-7', 'STAGE-8', 'STAGE-9'].map((id) => ({ stage: stage(id) }));
  const { user, server } = openPage('/', board({ stages }));
  await within(await column('Ready')).findByText('Title of STAGE-9');
  server.answer({
    put_hold: () => ({ holds: [] }),
    remove_stage: ({ stageId }) => ({ stage: stage(String(stageId)), left: null, kept: null, deleted: [] }),
  });
  await user.keyboard('jxjx');
  const bar = await screen.findByRole('toolbar', { name: 'Selected stages' });
  await within(bar).findByText('2 stages selected');
  await user.click(within(bar).getByRole('button', { name: 'Hold' }));
  const scope = { stageIds: ['STAGE-7', 'STAGE-8'] };
  await expect.poll(() => server.received).toMatchObject([{ command: 'put_hold', input: { scope, held: true } }]);
  await expect.poll(() => screen.queryByRole('toolbar')).toBeNull();

  await user.keyboard('x');
  await user.click(await screen.findByRole('button', { name: 'Delete' }));
  const dialog = await screen.findByRole('dialog', { name: 'Delete 1 stage' });
  await within(dialog).findByText(/Title of STAGE-8/);
  await user.click(within(dialog).getByRole('button', { name: 'Delete' }));
  await expect.poll(() => server.received.at(-1)).toMatchObject({ command: 'remove_stage' });
});
