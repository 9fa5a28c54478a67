import { sampleMachine, sampleProject } from '@callboard/contract/samples';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../test/open-page.tsx';
import { problem } from '../test/page-server.ts';
import { board, session, stage } from '../test/samples.ts';

const ATTIC = '0194269f-8c00-7000-8000-000000000002';
const workshop = sampleMachine({ projects: ['web'] });
const attic = sampleMachine({ id: ATTIC, name: 'attic', state: 'unreachable', seenAt: '2026-01-01T09:00:00.000Z' });

const view = (machines = [workshop, attic]) => ({
  ...board({
    stages: [
      {
        stage: stage('STAGE-1', { title: 'Login form', machineId: ATTIC }),
        session: session('STAGE-1', { state: 'idle' }),
      },
    ],
  }),
  projects: [sampleProject({ id: 'web', name: 'Web' })],
  machines,
});

it('lists the machines, and declares one lost that does not answer, after saying what that does not stop', async () => {
  const { user, server } = openPage('/', view());
  const machines = [workshop, attic];
  server.answer({
    get_machines: () => ({ machines, here: workshop.id }),
    declare_machine_lost: () => {
      machines[1] = { ...attic, state: 'lost' };
      return { machine: machines[1] };
    },
  });
  await user.click(await screen.findByRole('button', { name: 'Account' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Machines', hidden: true }));
  const list = within(await screen.findByRole('list', { name: 'Machines' }));
  await list.findByText('3 sessions, 2 of 4 slots free');
  list.getByText('this board is served from here');
  await user.click(list.getByRole('button', { name: 'Declare lost' })); // the one of the unreachable machine
  const dialog = within(await screen.findByRole('dialog', { name: 'Declare attic lost' }));
  dialog.getByText(/Claude Code may still work there/);
  dialog.getByText(/The conversations are in the home folder of attic/);
  await user.click(dialog.getByRole('button', { name: 'Declare lost' }));
  await list.findByText(/^Lost/);
  expect(server.received.findLast(({ command }) => command === 'declare_machine_lost')?.input).toEqual({
    machineId: ATTIC,
  });
  expect(list.queryByRole('button', { name: 'Declare lost' })).toBeNull();
});

it('says why a machine was not declared lost', async () => {
  const { user, server } = openPage('/machines', view());
  server.answer({
    get_machines: () => ({ machines: [workshop, attic], here: workshop.id }),
    declare_machine_lost: () => problem('machine_reachable', 'attic answers, so it is not lost.'),
  });
  await user.click(await screen.findByRole('button', { name: 'Declare lost' }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Declare attic lost' }));
  await user.click(dialog.getByRole('button', { name: 'Declare lost' }));
  await dialog.findByText(/attic answers, so it is not lost/);
});

it('says on the card and the page of a stage where it runs', async () => {
  const { user } = openPage('/', view());
  const row = within(await screen.findByRole('article', { name: /Login form/ }));
  row.getByTitle('attic is unreachable');
  await user.click(row.getByRole('link', { name: /Login form/ }));
  await screen.findByRole('heading', { name: 'Login form', level: 1 });
  screen.getByTitle('attic is unreachable');
});

it('says nothing of the machine while there is only one', async () => {
  openPage('/', view([attic]));
  await screen.findByRole('article', { name: /Login form/ });
  expect(screen.queryByTitle('attic is unreachable')).toBeNull();
});

it('offers the machines that have the project in the form of a new stage', async () => {
  const { user, server } = openPage('/', view());
  await screen.findByRole('region', { name: 'Ready' });
  await user.keyboard('n');
  const dialog = within(await screen.findByRole('dialog'));
  const chip = await dialog.findByRole('combobox', { name: 'Machine' });
  expect(
    within(chip)
      .getAllByRole('option')
      .map(({ textContent }) => textContent),
  ).toEqual(['Any machine', 'workshop']);
  await user.selectOptions(chip, 'workshop');
  await user.type(dialog.getByRole('textbox', { name: 'Prompt' }), 'Do it');
  await user.click(dialog.getByRole('button', { name: 'Add to board' }));
  await expect
    .poll(() => server.received.find(({ command }) => command === 'create_stage')?.input)
    .toMatchObject({ machine: 'workshop' });
});
