import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { at, board, request, session, stage } from '../../test/samples.ts';

const texts = async () => {
  const list = await screen.findByRole('list', { name: 'Stages' });
  return within(list)
    .getAllByRole('listitem')
    .map((row) => [...row.children].slice(0, 2).map(({ textContent }) => textContent));
};
const busy = (id: string, now: object | null = null) => session(id, { state: 'busy', now });

it('shows who calls first, then what each stage does, and says when what it shows is old', async () => {
  const { server } = openPage(
    '/wall',
    board({
      stages: [
        { stage: stage('STAGE-1', { title: 'Login' }), session: busy('STAGE-1', { kind: 'writing', text: 'The ind' }) },
        { stage: stage('STAGE-2', { title: 'Cart' }), session: session('STAGE-2', { state: 'waiting' }) },
        { stage: stage('STAGE-3', { title: 'Not started' }) },
      ],
      pending: [request('STAGE-2', 'r1', { toolName: 'Bash', input: { command: 'npm install' } })],
    }),
  );
  await screen.findByRole('heading', { name: '1 stage needs you' });
  expect(await texts()).toEqual([
    ['Cart', 'asks: npm install'],
    ['Login', 'writing'], // the same words for as long as it writes
  ]);
  expect(screen.queryByRole('dialog')).toBeNull();
  const now = { kind: 'tool', toolUseId: 'u1', action: 'npm test', isCommand: true, since: at(0) };
  server.emit('session-updated', busy('STAGE-1', now));
  await expect.poll(async () => (await texts())[1]).toEqual(['Login', 'runs npm test']);
  server.pass('orchestrator-status', { status: 'unreachable' });
  await screen.findByRole('heading', { name: 'No connection: this is old' });
});

it('has room for eleven stages, and says how many there are beyond', async () => {
  const ids = Array.from({ length: 14 }, (_, n) => `STAGE-${n + 1}`);
  openPage('/wall', board({ stages: ids.map((id) => ({ stage: stage(id), session: busy(id) })) }));
  await screen.findByText('and 3 more stages');
  await screen.findByRole('heading', { name: 'Nothing needs you' });
  expect(await texts()).toHaveLength(11);
});
