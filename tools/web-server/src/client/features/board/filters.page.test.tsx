import { sampleProject } from '@callboard/contract/samples';
import { cleanup, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, stage } from '../../test/samples.ts';

const [cart, checkout] = ['STAGE-001-001-001', 'STAGE-001-002-001'];
const view = () => ({
  ...board({
    stages: [
      { stage: stage('STAGE-1', { title: 'Login form' }) },
      { stage: stage(cart, { title: 'Cart' }) },
      { stage: stage(checkout, { title: 'Checkout', dependsOn: [cart] }) },
    ],
  }),
  projects: [sampleProject({ id: 'web', name: 'web' })],
});
const region = async (name: string) => within(await screen.findByRole('region', { name }));

it('keeps filters in the address, and reads them from there', async () => {
  const { user } = openPage('/', view());
  await (await region('Backlog')).findByText('waits for Cart');
  await user.selectOptions(screen.getByRole('combobox', { name: 'Group' }), 'STAGE-001-002');
  await user.click(screen.getByRole('heading', { name: 'Board' })); // in a field / is a letter
  await user.keyboard('/check');
  await (await region('Ready')).findByText('Nothing matches');
  await expect.poll(() => location.search).toBe('?group=STAGE-001-002&text=check');
  cleanup();

  const { user: again } = openPage(`/${location.search}`, view());
  await (await region('Backlog')).findByRole('link', { name: 'Checkout' });
  expect(screen.getAllByRole('article')).toHaveLength(1);
  const find = screen.getByRole('textbox', { name: 'Find stages' });
  expect(find).toHaveProperty('value', 'check');
  await again.click(screen.getByRole('button', { name: 'Show all' }));
  await (await region('Ready')).findByRole('link', { name: 'Login form' });
  await expect.poll(() => find).toHaveProperty('value', '');
});

it('keeps folded columns folded', async () => {
  const { user } = openPage('/', view());
  await user.click(await screen.findByRole('button', { name: 'Fold Review' }));
  await screen.findByRole('button', { name: 'Unfold Review' });
  cleanup();
  const { user: again } = openPage('/', view());
  await again.click(await screen.findByRole('button', { name: 'Unfold Review' }));
  await screen.findByRole('button', { name: 'Fold Review' });
});

it('imports a folder of stages, and says in the form what is wrong with a path', async () => {
  const { user, server } = openPage('/', view());
  server.answer({
    get_trust: () => problem('internal', 'not asked here'),
    import_stages: ({ path }) =>
      path === 'stages'
        ? { created: 2, updated: 0, stages: [], ignored: [] }
        : problem('bad_request', `There is no file or folder ${path}.`),
  });
  await user.click(await screen.findByRole('button', { name: 'Projects' }));
  await user.click(await screen.findByRole('menuitem', { name: 'web', hidden: true }));
  const project = within(await screen.findByRole('dialog', { name: 'Project web' }));
  const path = await project.findByRole('textbox', { name: 'Folder or file' });
  await user.type(path, 'nowhere');
  await user.click(project.getByRole('button', { name: 'Import' }));
  await project.findByText(/There is no file or folder nowhere/);
  await user.clear(path);
  await user.type(path, 'stages');
  await user.click(project.getByRole('button', { name: 'Import again' }));
  await project.findByText(/^2 stages created/);
});
