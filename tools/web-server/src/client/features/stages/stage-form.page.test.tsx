import 'fake-indexeddb/auto';
import type { CommandInput } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { act, screen, within } from '@testing-library/react';
import type { UserEvent } from '@testing-library/user-event';
import { expect, it } from 'vitest';
import { useBoardUi } from '../../data/board-ui.ts';
import { openPage } from '../../test/open-page.tsx';
import { at, board, request, session, stage } from '../../test/samples.ts';

const PHASES = ['Design', 'Build'];

/** Opens a board with one stage. */
async function open(fields: Record<string, unknown> = {}, started: Record<string, unknown> | null = null) {
  const own = stage('STAGE-1', { title: 'Rate limits', projectId: 'web', ...fields });
  const one = { stage: own, ...(started !== null && { session: session('STAGE-1', started) }) };
  const page = openPage('/', { ...board({ stages: [one] }), projects: [sampleProject({ id: 'web' })] });
  page.server.answer({
    get_capabilities: () => ({ capabilities: null, from: 'stage' }),
    create_stage: () => ({ stage: { ...own, column: 'backlog', session: null } }),
    start_stage: () => ({ stage: { ...own, column: 'running', session: null } }),
    update_stage: () => ({ stage: { ...own, column: 'ready', session: null } }),
    get_drafts: () => ({ drafts: [] }),
  });
  await screen.findByRole('region', { name: 'Done' });
  const sent = (command: string) =>
    page.server.received.filter((received) => received.command === command).map(({ input }) => input);
  return { ...page, sent, own };
}

async function openNew() {
  act(() => useBoardUi.setState({ form: { kind: 'new-stage', projectId: null } }));
  return within(await screen.findByRole('dialog', { name: 'New stage' }));
}

async function write(user: UserEvent, box: HTMLElement, text: string): Promise<void> {
  await user.click(box);
  await user.paste(text);
}

it('writes a stage with phases of its own, and has everything again after the form was closed by mistake', async () => {
  const { user, sent } = await open();
  let form = await openNew();
  await write(user, form.getByRole('textbox', { name: 'Title' }), 'Rate limits');
  await write(user, form.getByRole('textbox', { name: 'Prompt' }), 'Do it.');
  await user.click(form.getByRole('button', { name: 'More' }));
  for (const [index, name] of PHASES.entries()) {
    if (index === 0) await user.selectOptions(form.getByRole('combobox', { name: 'Pipeline' }), 'Custom phases');
    else await user.click(form.getByRole('button', { name: 'Add phase' }));
    await write(user, form.getByRole('textbox', { name: `Name of phase ${index + 1}` }), name);
    await write(user, form.getByRole('textbox', { name: `Prompt of phase ${index + 1}` }), `${name} it.`);
  }
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  form = await openNew();
  await form.findByText(/^Draft restored/);
  expect(form.getByRole<HTMLInputElement>('textbox', { name: 'Name of phase 2' }).value).toBe('Build');
  expect(form.queryByRole('checkbox', { name: 'Keep in backlog' })).toBeNull();
  await user.click(form.getByRole('button', { name: 'More' }));
  await user.click(form.getByRole('checkbox', { name: 'Keep in backlog' }));
  await user.click(form.getByRole('button', { name: 'Less' }));
  form.getByRole('checkbox', { name: 'Keep in backlog' });
  await user.click(form.getByRole('button', { name: 'Add to board' }));
  await expect.poll(() => sent('create_stage')).toHaveLength(1);
  expect(sent('create_stage')[0]).toMatchObject({
    title: 'Rate limits',
    prompt: 'Do it.',
    held: true,
    pipeline: PHASES.map((name) => ({ name, prompt: `${name} it.` })),
  } satisfies Partial<Record<keyof CommandInput<'create_stage'>, unknown>>);
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  form = await openNew();
  expect(form.getByRole<HTMLInputElement>('textbox', { name: 'Title' }).value).toBe('');
  await user.keyboard('{Escape}');
});

async function openEdit(user: UserEvent) {
  await user.click(await screen.findByRole('button', { name: 'More for Rate limits' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Edit', hidden: true }));
  return within(await screen.findByRole('dialog', { name: 'Edit Rate limits' }));
}

it('edits a stage, and shows its priority on its row', async () => {
  const { user, server, sent, own } = await open({ held: true });
  const form = await openEdit(user);
  await user.click(form.getByRole('checkbox', { name: 'Keep in backlog' }));
  await user.selectOptions(form.getByRole('combobox', { name: 'Priority' }), '0');
  await user.click(form.getByRole('button', { name: 'Save' }));
  await expect.poll(() => sent('update_stage')).toMatchObject([{ patch: { held: false, priority: 0 } }]);
  server.emit('stage-updated', { stageId: own.id, stage: { ...own, held: false, priority: 0 } });
  await within(await screen.findByRole('region', { name: 'Ready' })).findByRole('img', { name: 'Urgent priority' });
});

it('says of a started stage what can still be edited, and starts the next phase from its card', async () => {
  const pipeline = PHASES.map((name) => ({ name, prompt: `${name} it.`, gate: name === 'Design' ? 'human' : 'none' }));
  const lastTurn = { outcome: 'succeeded', at: at(1), message: null, code: null };
  const { user, server, sent, own } = await open({ pipeline }, { state: 'idle', atGate: true, lastTurn });
  const needsYou = within(await screen.findByRole('region', { name: 'Needs you' }));
  await needsYou.findByText('Design finished');
  const form = await openEdit(user);
  form.getByText(/It was started/);
  const isOff = (name: string) => form.getByRole('textbox', { name }).matches(':disabled');
  expect([isOff('Name of phase 1'), isOff('Name of phase 2')]).toEqual([true, false]);
  expect(form.queryByRole('textbox', { name: 'Prompt' })).toBeNull();
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  server.answer({ advance_stage: () => ({ stage: { ...own, column: 'running', session: session('STAGE-1') } }) });
  await user.click(needsYou.getByRole('button', { name: 'Start Build' }));
  await expect.poll(() => sent('advance_stage')).toMatchObject([{ stageId: 'STAGE-1' }]);
});

it('asks for a prompt and four things; what else differs from its default stays in sight', async () => {
  const { user } = await open();
  const form = await openNew();
  const chips = () =>
    ['Project', 'Model', 'Permission mode', 'Priority', 'Effort', 'Pipeline', 'At the end', 'Sandbox'].filter(
      (name) => form.queryByRole('combobox', { name }) !== null,
    );
  expect(chips()).toEqual(['Project', 'Model', 'Permission mode']);
  form.getByRole('button', { name: /^Branch/ });
  await user.click(form.getByRole('button', { name: 'More' }));
  expect(chips()).toHaveLength(8);
  await user.selectOptions(form.getByRole('combobox', { name: 'Priority' }), '0');
  await user.click(form.getByRole('button', { name: 'Less' }));
  expect(chips()).toEqual(['Project', 'Model', 'Permission mode', 'Priority']);
});

it.each([
  ['Control', 'Title'],
  ['Control', 'Permission mode'],
  ['Meta', 'Title'],
] as const)('starts a new stage with %s Enter in the field %s', async (key, field) => {
  const { user, sent } = await open();
  const form = await openNew();
  await write(user, form.getByRole('textbox', { name: 'Prompt' }), 'Do it.');
  act(() => (form.queryByRole('textbox', { name: field }) ?? form.getByRole('combobox', { name: field })).focus());
  await user.keyboard(`{${key}>}{Enter}{/${key}}`);
  await expect.poll(() => sent('create_stage')).toMatchObject([{ prompt: 'Do it.' }]);
  await expect.poll(() => sent('start_stage')).toHaveLength(1);
});

it('shows the request of another stage in the head of an open form', async () => {
  const { server } = await open();
  const form = await openNew();
  server.emit('approval-requested', request('STAGE-1', 'one', { createdAt: at(1) }));
  const card = await form.findByRole('region', { name: 'Request' });
  within(card).getByText('Rate limits');
});
