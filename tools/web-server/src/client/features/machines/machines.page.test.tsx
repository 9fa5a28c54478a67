import type { Machine } from '@callboard/contract';
import { sampleMachine, sampleProject } from '@callboard/contract/samples';
import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { useBoardUi } from '../../data/board-ui.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, session, stage } from '../../test/samples.ts';

const ATTIC = '0194269f-8c00-7000-8000-000000000002';
const workshop = sampleMachine({ projects: ['web'] });
const attic = sampleMachine({ id: ATTIC, name: 'attic', state: 'unreachable', seenAt: '2026-01-01T09:00:00.000Z' });

const optionsOf = (field: HTMLElement) =>
  within(field)
    .getAllByRole('option')
    .map(({ textContent }) => textContent);

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
  await user.click(await dialog.findByRole('button', { name: 'More' }));
  const chip = dialog.getByRole('combobox', { name: 'Machine' });
  expect(optionsOf(chip)).toEqual(['Any machine', 'workshop']);
  await user.selectOptions(chip, 'workshop');
  await user.type(dialog.getByRole('textbox', { name: 'Prompt' }), 'Do it');
  await user.click(dialog.getByRole('button', { name: 'Add to board' }));
  await expect
    .poll(() => server.received.find(({ command }) => command === 'create_stage')?.input)
    .toMatchObject({ machine: 'workshop' });
});

it('offers two machines of one name apart, and sends the id of the chosen one', async () => {
  const twin = sampleMachine({ id: '0194269f-8c00-7000-8000-000000000003', name: 'workshop', projects: ['web'] });
  const { user, server } = openPage('/', view([workshop, attic, twin]));
  await screen.findByRole('region', { name: 'Ready' });
  await user.keyboard('n');
  const dialog = within(await screen.findByRole('dialog'));
  await user.click(await dialog.findByRole('button', { name: 'More' }));
  const chip = dialog.getByRole('combobox', { name: 'Machine' });
  expect(optionsOf(chip)).toEqual(['Any machine', 'workshop (…000001)', 'workshop (…000003)']);
  await user.selectOptions(chip, 'workshop (…000003)');
  await user.type(dialog.getByRole('textbox', { name: 'Prompt' }), 'Do it');
  await user.click(dialog.getByRole('button', { name: 'Add to board' }));
  await expect
    .poll(() => server.received.find(({ command }) => command === 'create_stage')?.input)
    .toMatchObject({ machine: twin.id });
});

it('says in the form of a stage why it would not start where it is pinned to', async () => {
  const waiting = { stage: stage('STAGE-2', { title: 'Refunds', machine: 'attic' }) };
  const { user } = openPage('/', {
    ...board({ stages: [waiting] }),
    projects: [sampleProject({ id: 'web', name: 'Web' })],
    machines: [workshop, attic],
  });
  await screen.findByRole('article', { name: /Refunds/ });
  useBoardUi.getState().open({ kind: 'edit-stage', stageId: stage('STAGE-2').id });
  const dialog = within(await screen.findByRole('dialog'));
  await dialog.findByText(/attic does not have this repository, so nothing starts\. Add the project there/);
  await user.selectOptions(dialog.getByRole('combobox', { name: 'Machine' }), 'Any machine');
  expect(dialog.queryByText(/does not have this repository/)).toBeNull();
});

it.each([
  ['one machine is left, and it', [workshop], 'old', /No machine is called old, so nothing starts\./],
  [
    'the machine of the project',
    [workshop, attic],
    'attic',
    /attic does not have this repository, so nothing starts\./,
  ],
])(
  'says in the form of a new stage that it would not start where %s is not right',
  async (_, machines, machine, why) => {
    const project = sampleProject({ id: 'web', name: 'Web', settings: { machine } });
    const { user, server } = openPage('/', { ...view(machines), projects: [project] });
    await screen.findByRole('region', { name: 'Ready' });
    await user.keyboard('n');
    const dialog = within(await screen.findByRole('dialog'));
    await dialog.findByText(why);
    await user.selectOptions(dialog.getByRole('combobox', { name: 'Machine' }), 'workshop');
    expect(dialog.queryByText(why)).toBeNull();
    await user.type(dialog.getByRole('textbox', { name: 'Prompt' }), 'Do it');
    await user.click(dialog.getByRole('button', { name: 'Add to board' }));
    await expect
      .poll(() => server.received.find(({ command }) => command === 'create_stage')?.input)
      .toMatchObject({ machine: 'workshop' });
  },
);

describe('the form of a project', () => {
  async function open(machines: Machine[], machine: string | null = null, settings: Record<string, unknown> = {}) {
    const project = sampleProject({ id: 'web', name: 'Web', settings: { machine, ...settings } });
    const page = openPage('/', { ...view(machines), projects: [project] });
    page.server.answer({ update_project: () => ({ project }), get_editors: () => ({ editors: [] }) });
    await page.user.click(await screen.findByRole('button', { name: 'Projects' }));
    await page.user.click(await screen.findByRole('menuitem', { name: 'Web', hidden: true }));
    await screen.findByRole('textbox', { name: 'Name' });
    const saved = () => page.server.received.findLast(({ command }) => command === 'update_project')?.input;
    return { ...page, saved };
  }

  it('pins the project to one of the machines that have it', async () => {
    const { user, saved } = await open([workshop, attic]);
    const field = screen.getByRole('combobox', { name: 'Machine' });
    expect(optionsOf(field)).toEqual(['Any machine', 'workshop']);
    await user.selectOptions(field, 'workshop');
    await user.click(screen.getByRole('button', { name: 'Save' }));
    await expect.poll(saved).toMatchObject({ settings: { machine: 'workshop' } });
  });

  it('says what is wrong with a machine that does not have the project', async () => {
    const { user, saved } = await open([workshop, attic], 'attic');
    const field = screen.getByRole('combobox', { name: 'Machine' });
    expect(field).toHaveProperty('value', 'attic');
    await screen.findByText(/attic does not have this repository, so nothing starts\. Add the project there/);
    await user.selectOptions(field, 'Any machine');
    expect(screen.queryByText(/does not have this repository/)).toBeNull();
    await user.click(screen.getByRole('button', { name: 'Save' }));
    await expect.poll(saved).toMatchObject({ settings: { machine: null } });
  });

  const LOST_AFTER = { name: 'Declare a machine lost after, in minutes' };

  it('has a time after which a machine is declared lost, and says where that has no effect', async () => {
    const ready = { ...workshop, endsSessionsAfterMs: 300_000 };
    const twin = sampleMachine({ id: '0194269f-8c00-7000-8000-000000000003', name: 'shed', projects: ['web'] });
    const { user, saved } = await open([ready, attic, twin]);
    const field = screen.getByRole('textbox', LOST_AFTER);
    await user.type(field, '1');
    await screen.findByText('Enter at least two minutes, or nothing.');
    await user.type(field, '0');
    await screen.findByText(
      /^No effect on shed yet: start Callboard there with CALLBOARD_END_SESSIONS_AFTER_MINUTES=5 or less/,
    );
    await user.click(screen.getByRole('button', { name: 'Save' }));
    await expect.poll(saved).toMatchObject({ settings: { declareLostAfterMs: 600_000 } });
  });

  it('takes the time away again, also where only one machine is left', async () => {
    const { user, saved } = await open([workshop], null, { declareLostAfterMs: 600_000 });
    const field = screen.getByRole('textbox', LOST_AFTER);
    expect(field).toHaveProperty('value', '10');
    await user.clear(field);
    await user.click(screen.getByRole('button', { name: 'Save' }));
    await expect.poll(saved).toMatchObject({ settings: { declareLostAfterMs: null } });
  });

  it('asks for no machine while there is only one', async () => {
    await open([workshop]);
    expect(screen.queryByRole('combobox', { name: 'Machine' })).toBeNull();
    expect(screen.queryByRole('textbox', LOST_AFTER)).toBeNull();
  });

  it('offers a way out where only one is left, and the project is pinned to one that was removed', async () => {
    await open([workshop], 'attic');
    await screen.findByText('No machine is called attic, so nothing starts. Choose another machine.');
  });
});

describe('a lost machine', () => {
  const lost = sampleMachine({ id: ATTIC, name: 'attic', state: 'lost', projects: ['web', 'docs'] });

  it('is removed from the list, after saying what that means', async () => {
    const { user, server } = openPage('/machines', view([workshop, lost]));
    const machines = [workshop, lost];
    server.answer({
      get_machines: () => ({ machines, here: workshop.id }),
      remove_machine: () => {
        machines.pop();
        return { machine: lost };
      },
    });
    const list = within(await screen.findByRole('list', { name: 'Machines' }));
    expect(list.queryByRole('button', { name: 'Declare lost' })).toBeNull();
    await user.click(await list.findByRole('button', { name: 'Remove' }));
    const dialog = within(await screen.findByRole('dialog', { name: 'Remove attic' }));
    dialog.getByText(/What is pinned to attic waits until you choose another machine/);
    dialog.getByText(/No other machine has the repository of docs/);
    dialog.getByText(/If attic comes back with its data, it is listed again/);
    await user.click(dialog.getByRole('button', { name: 'Remove' }));
    await expect.poll(() => list.queryByText('attic')).toBeNull();
    expect(server.received.findLast(({ command }) => command === 'remove_machine')?.input).toEqual({
      machineId: ATTIC,
    });
  });

  it('stays, and the dialog says why, if it came back meanwhile', async () => {
    const { user, server } = openPage('/machines', view([workshop, lost]));
    server.answer({
      get_machines: () => ({ machines: [workshop, lost], here: workshop.id }),
      remove_machine: () => problem('machine_not_lost', 'attic answers, so it was not removed.'),
    });
    await user.click(await screen.findByRole('button', { name: 'Remove' }));
    const dialog = within(await screen.findByRole('dialog', { name: 'Remove attic' }));
    await user.click(dialog.getByRole('button', { name: 'Remove' }));
    await dialog.findByText(/attic answers, so it was not removed/);
  });

  it('leaves the board with its event, and its stages still say where they were interrupted', async () => {
    const at = '2026-01-01T09:00:00.000Z';
    const interrupted = { machineId: ATTIC, machine: 'attic', at, by: 'Ada', worktree: null };
    const stages = [
      { stage: stage('STAGE-1', { title: 'Login form', lost: interrupted }) },
      { stage: stage('STAGE-2', { title: 'Refunds', machineId: workshop.id }), session: session('STAGE-2', {}) },
    ];
    const projects = [sampleProject({ id: 'web', name: 'Web' })];
    const { server } = openPage('/', { ...board({ stages }), projects, machines: [workshop, lost] });
    const other = within(await screen.findByRole('article', { name: /Refunds/ }));
    other.getByTitle('Runs on workshop');
    server.emit('machine-removed', { machineId: lost.id });
    await waitFor(() => expect(other.queryByTitle('Runs on workshop')).toBeNull()); // there is only one now
    const row = within(screen.getByRole('article', { name: /Login form/ }));
    row.getByTitle('Interrupted on attic, which was declared lost');
  });
});
