import { type Pause, QueuedMessage } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { screen, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { pausesDialog } from '../../data/dialogs.ts';
import { sinceTime } from '../../data/pauses.tsx';
import { openPage } from '../../test/open-page.tsx';
import { at, board, session, stage } from '../../test/samples.ts';

const ALL: Pause = { scope: {}, by: 'Ada', at: at(0), except: [] };
const SINCE = sinceTime(at(0));

const MESSAGE = { text: 'And then', by: 'Ada', createdAt: at(1), position: 1, attachments: [], isCommand: false };
const pausedTurn = session('STAGE-1', { state: 'idle', sessionId: 'one', withheld: true, queued: 2 });
const busy = session('STAGE-2', { state: 'busy', sessionId: 'two' });

/** A stage whose messages wait, one whose turn runs, and one that starts automatically. */
function open(path: string, holds: Pause[] = [ALL]) {
  onTestFinished(pausesDialog.close); // its store outlives the page
  const stages = [
    { stage: stage('STAGE-1'), session: pausedTurn },
    { stage: stage('STAGE-2'), session: busy },
    { stage: stage('STAGE-3', { autoStart: true }) },
  ];
  const page = openPage(path, { ...board({ stages }), projects: [sampleProject()], holds });
  page.server.answer({
    put_hold: () => ({ holds: [] }),
    get_transcript: () => ({ entries: [], total: 0 }),
    get_servers: () => ({ servers: [] }),
    get_stage_commands: () => ({ commands: [] }),
    get_queue: () => ({ queue: [], held: false }),
  });
  const orders = () => page.server.received.filter(({ command }) => command === 'put_hold').map(({ input }) => input);
  return { ...page, orders };
}

const column = (name: string) => screen.findByRole('region', { name });

it('says on the board what is on hold, since when and by whom, and releases it', async () => {
  const { user, orders } = open('/');
  await screen.findByText(
    `Everything has been on hold since ${SINCE} (by Ada). Nothing starts, and queued messages wait.`,
  );
  await within(await column('Running')).findByText('On hold: 2 messages wait');
  within(await column('Running')).getByRole('img', { name: 'On hold when this turn has ended' });
  await within(await column('Ready')).findByText('On hold');
  await user.click(screen.getByRole('button', { name: 'Release Everything' }));
  await expect.poll(orders).toEqual([{ scope: {}, held: false }]);
});

it('shows what was released since, and a project by its name', async () => {
  const { user, orders } = open('/', [{ ...ALL, except: [{ stageId: pausedTurn.stageId }] }]);
  await screen.findByText(/One was released since\.$/);
  await user.click(await screen.findByRole('button', { name: 'Projects' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Hold and release' }));
  const list = within(await screen.findByRole('list', { name: 'What can be held' }));
  expect(list.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual([
    `EverythingOn hold since ${SINCE}, by Ada; 1 released sinceHold the rest againRelease`,
    `ShopOn hold since ${SINCE}, by Ada, with everythingRelease`,
  ]);
  await user.click(list.getByRole('button', { name: 'Release Shop' }));
  await expect.poll(orders).toEqual([{ scope: { projectId: 'shop' }, held: false }]);
  await user.click(list.getByRole('button', { name: 'Hold the rest again: Everything' }));
  await expect.poll(() => orders().at(-1)).toEqual({ scope: {}, held: true });
});

it('holds again from the palette what was released since', async () => {
  const { user, orders } = open('/', [{ ...ALL, except: [{ stageId: pausedTurn.stageId }] }]);
  await within(await column('Running')).findByText('Continues when a slot is free');
  await user.keyboard('{Control>}k{/Control}');
  await user.type(await screen.findByRole('combobox', { name: 'Search or command' }), 'hold the rest{Enter}');
  await expect.poll(orders).toEqual([{ scope: {}, held: true }]);
});

it('holds everything from the palette, and a project with its turns from the dialog', async () => {
  const { user, orders } = open('/', []);
  await column('Running');
  await user.keyboard('{Control>}k{/Control}');
  await user.type(await screen.findByRole('combobox', { name: 'Search or command' }), 'hold every{Enter}');
  await expect.poll(orders).toEqual([{ scope: {}, held: true }]);
  await user.click(screen.getByRole('button', { name: 'Projects' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Hold and release' }));
  await user.click(await screen.findByRole('button', { name: 'Hold Shop and interrupt' }));
  await expect.poll(() => orders().at(-1)).toEqual({ scope: { projectId: 'shop' }, held: true, interrupt: true });
});

it('holds and releases by key, by menu and from the bar of the selected stages', async () => {
  const { user, orders } = open('/', []);
  await column('Running');
  await user.keyboard('jh');
  await expect.poll(() => orders().length).toBe(1);
  expect(orders()[0]).toMatchObject({ held: true, scope: { stageIds: [expect.stringMatching(/^STAGE-\d$/)] } });
  await user.click(screen.getByRole('button', { name: 'More for Title of STAGE-2' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Hold and interrupt' }));
  await expect.poll(() => orders().at(-1)).toEqual({ scope: { stageIds: ['STAGE-2'] }, held: true, interrupt: true });
});

it('offers the release of all that are selected', async () => {
  const { user, orders } = open('/');
  await column('Running');
  await user.keyboard('jxjx');
  const bar = within(await screen.findByRole('toolbar', { name: 'Selected stages' }));
  expect(bar.queryByRole('button', { name: 'Hold' })).toBeNull();
  expect(bar.queryByRole('button', { name: 'Hold and interrupt' })).toBeNull();
  await user.click(bar.getByRole('button', { name: 'Release' }));
  await expect.poll(orders).toMatchObject([{ held: false }]);
  await expect.poll(() => screen.queryByRole('toolbar')).toBeNull();
});

it('says on the stage what waits, what a message does, and releases this stage alone', async () => {
  const { user, orders, server } = open('/stages/STAGE-1');
  const queue = [QueuedMessage.parse({ ...MESSAGE, stageId: 'STAGE-1', messageId: 'one' })];
  server.answer({ get_queue: () => ({ queue, held: false }) });
  const banner = within(
    await screen.findByRole('region', { name: `Everything has been on hold since ${SINCE} (by Ada)` }),
  );
  banner.getByText('2 messages wait. When released, the first one is sent.');
  await screen.findByText('1 message queued: sent when the stage is released');
  await screen.findByText(/On hold: a message waits until you release the stage\./);
  expect(screen.queryByRole('button', { name: 'Continue' })).toBeNull();
  await user.click(banner.getByRole('button', { name: 'Release this stage' }));
  await expect.poll(orders).toEqual([{ scope: { stageIds: ['STAGE-1'] }, held: false }]);
});
