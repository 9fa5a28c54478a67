import { fireEvent, screen, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { board, stage } from '../../test/samples.ts';

const drawn = vi.hoisted(() => ({ rows: 0 }));
vi.mock('./card-line.tsx', async (original) => {
  const module = await original<typeof import('./card-line.tsx')>();
  const { CardLine } = module;
  const Counted: typeof CardLine = (props) => {
    drawn.rows += 1;
    return CardLine(props);
  };
  return { ...module, CardLine: Counted };
});

const column = (name: string) => screen.findByRole('region', { name });
const isLifted = () => document.querySelector('[data-dragging="true"]') !== null;
const row = async () => {
  const found = (await within(await column('Ready')).findByText('Login form')).closest('li');
  if (found === null) throw new Error('not in a row');
  return found;
};
const transfer = () => ({ dataTransfer: { setData: () => undefined, effectAllowed: '', dropEffect: '' } });

function openBoard() {
  const ready = stage('STAGE-1', { title: 'Login form' });
  const page = openPage('/', board({ stages: [{ stage: ready }] }));
  page.server.answer({ start_stage: () => ({ stage: { ...ready, column: 'running', session: null } }) });
  return page;
}

it('starts a stage that is dragged to Running, and says so before it is dropped', async () => {
  const { server } = openBoard();
  fireEvent.dragStart(await row(), transfer());
  await vi.waitFor(() => expect(isLifted()).toBe(true));
  fireEvent.dragOver(await column('Running'), transfer());
  await within(await column('Running')).findByText('Drop to start it');
  fireEvent.drop(await column('Running'), transfer());
  await expect.poll(() => server.received).toMatchObject([{ command: 'start_stage', input: { stageId: 'STAGE-1' } }]);
  expect(isLifted()).toBe(false);
});

it('drags nothing from a button, and puts a row down that is dropped outside of the columns', async () => {
  const { server } = openBoard();
  const start = within(await row()).getByRole('button', { name: 'Start' });
  fireEvent.pointerDown(start);
  expect(fireEvent.dragStart(await row(), transfer())).toBe(false);
  fireEvent.pointerDown(await row());
  fireEvent.dragStart(await row(), transfer());
  await vi.waitFor(() => expect(isLifted()).toBe(true));
  fireEvent.dragEnd(await row(), transfer());
  expect(isLifted()).toBe(false);
  expect(server.received).toEqual([]);
});

it('puts a lifted row down when the focus leaves it', async () => {
  const { user } = openBoard();
  await row();
  await user.keyboard('j ');
  await vi.waitFor(() => expect(isLifted()).toBe(true));
  await user.click(screen.getByRole('heading', { name: 'Board' }));
  await vi.waitFor(() => expect(isLifted()).toBe(false));
});

it('draws one row for a change of one stage, of however many', async () => {
  const stages = Array.from({ length: 50 }, (_, n) => stage(`STAGE-${n + 1}`, { title: `Stage ${n + 1}` }));
  const { server } = openPage('/', board({ stages: stages.map((one) => ({ stage: one })) }));
  await screen.findByText('Stage 50');
  drawn.rows = 0;
  const renamed = stage('STAGE-7', { title: 'Renamed' });
  server.emit('stage-updated', { stageId: renamed.id, stage: renamed });
  await screen.findByText('Renamed');
  expect(drawn.rows).toBe(1);
});
