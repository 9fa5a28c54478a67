import { type BoardView, Machine } from '@callboard/contract';
import type { Page } from 'playwright-core';
import { openPage } from './open-alone.ts';

type Show = (tab?: string) => Promise<void>;

const at = new Date(Date.now() - 4 * 60_000).toISOString();

/** Four machines, of which one does not answer, one was lost, and two have the same name. */
function machines(projects: readonly string[]): Machine[] {
  const usual = {
    state: 'connected',
    since: at,
    seenAt: new Date().toISOString(),
    version: '0.1.0',
    claudeVersion: '2.1.330',
    load: 1.4,
    freeMemoryBytes: 9.2e9,
    memoryBytes: 16e9,
    sessions: 3,
    slots: 4,
    freeSlots: 2,
    projects,
  };
  const one = (n: number, fields: object) =>
    Machine.parse({ ...usual, id: `0194269f-8c00-7000-8000-00000000000${n}`, ...fields });
  return [
    one(1, { name: 'workshop', endsSessionsAfterMs: 300_000 }),
    one(2, { name: 'attic', state: 'unreachable', seenAt: at, sessions: 1 }),
    one(3, {
      name: 'a-machine-with-a-rather-long-name.example',
      state: 'lost',
      projects: ['old'],
      claudeVersion: null,
    }),
    one(4, { name: 'workshop', sessions: 0, freeSlots: 4, projects: projects.slice(0, 1) }),
  ];
}

/** The stages are on different machines. */
function spread(view: BoardView): void {
  const all = machines(view.projects.map(({ id }) => id));
  view.machines = all;
  view.pending = []; // their overlay would come whenever it is ready
  for (const project of view.projects.slice(0, 1)) {
    project.settings.machine = 'cellar';
    project.settings.declareLostAfterMs = 600_000;
  }
  for (const [index, stage] of view.stages.entries())
    if (stage.session !== null) stage.machineId = all[index % 2]?.id ?? null;
}

async function withMachines(page: Page, check: () => Promise<void>): Promise<void> {
  await page.route('**/api/board', async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    spread(view);
    await route.fulfill({ response, json: view }).catch(() => undefined);
  });
  await page.route('**/api/machines', (route) => {
    const all = machines(['shop', 'docs']);
    return route.fulfill({ json: { machines: all, here: all[0]?.id ?? null } });
  });
  await check();
  await page.waitForTimeout(500);
  await page.unroute('**/api/board');
  await page.unroute('**/api/machines');
}

/** What several machines look like, by the name of the picture. */
export const machinePictures: Record<string, (page: Page, show: Show) => Promise<void>> = {
  machines: (page) =>
    withMachines(page, async () => {
      await openPage(page, '/machines');
      await page.getByRole('list', { name: 'Machines' }).getByRole('listitem').first().waitFor();
    }),
  'machines-lost': (page) =>
    withMachines(page, async () => {
      await openPage(page, '/machines');
      await page.getByRole('button', { name: 'Declare lost' }).click();
      await page.getByRole('dialog', { name: /^Declare/ }).waitFor();
    }),
  'machines-remove': (page) =>
    withMachines(page, async () => {
      await openPage(page, '/machines');
      await page.getByRole('button', { name: 'Remove' }).click();
      await page.getByRole('dialog', { name: /^Remove/ }).waitFor();
    }),
  'machines-board': (page) => withMachines(page, () => openPage(page, '/')),
  'machines-stage': (page, show) => withMachines(page, () => show()),
  'machines-new-stage': (page) =>
    withMachines(page, async () => {
      await openPage(page, '/');
      await page.getByRole('article').first().waitFor();
      await page.keyboard.press('n');
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('combobox', { name: 'Machine' }).waitFor();
    }),
  'machines-project': (page) =>
    withMachines(page, async () => {
      await openPage(page, '/');
      await page.getByRole('button', { name: 'Projects' }).click();
      await page.getByRole('menuitem', { name: 'shop' }).click();
      await page.getByRole('textbox', { name: 'Declare a machine lost after, in minutes' }).scrollIntoViewIfNeeded();
    }),
};
