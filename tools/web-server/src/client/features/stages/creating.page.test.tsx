import 'fake-indexeddb/auto';
import type { CommandInput, CommandReply } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { act, cleanup, screen, within } from '@testing-library/react';
import { HttpResponse } from 'msw';
import { expect, it } from 'vitest';
import { useBoardUi } from '../../data/board-ui.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, stage } from '../../test/samples.ts';

type Reply = CommandReply<'create_stage'> | Response;

const made: CommandReply<'create_stage'> = {
  stage: { ...stage('STAGE-2', { title: 'Rate limits' }), column: 'ready', session: null },
};

/** Opens the form of a new stage. */
async function openForm() {
  const { user, server } = openPage('/', {
    ...board({ stages: [{ stage: stage('STAGE-1') }] }),
    projects: [sampleProject({ id: 'web' })],
  });
  server.answer({
    get_capabilities: () => ({ capabilities: null, from: 'stage' }),
    start_stage: () => made,
  });
  await screen.findByRole('region', { name: 'Done' });
  const created = () =>
    server.received.flatMap(({ command, input }) =>
      command === 'create_stage' ? [input as CommandInput<'create_stage'>] : [],
    );
  return { user, server, created, form: await show() };
}

async function show() {
  act(() => useBoardUi.setState({ form: { kind: 'new-stage', projectId: null } }));
  return within(await screen.findByRole('dialog', { name: 'New stage' }));
}

/** An answer that the test gives later. */
function later() {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  return { answer: () => promise, give: resolve };
}

it('resends what has no reply, and creates one stage', async () => {
  const { user, server, form, created } = await openForm();
  server.answer({ create_stage: () => (created().length < 3 ? HttpResponse.error() : made) });
  await user.type(form.getByRole('textbox', { name: 'Prompt' }), 'Count the calls');
  await user.click(form.getByRole('button', { name: 'Add to board' }));
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(created()).toHaveLength(3);
  expect(new Set(created().map(({ creationId }) => creationId)).size).toBe(1);
});

it('says that the stage may have been created, and creates no second one, even from a page that was reloaded', async () => {
  const { user, server, form, created } = await openForm();
  server.answer({ create_stage: () => problem('no_confirmation', 'Its machine has not confirmed it.') });
  await user.type(form.getByRole('textbox', { name: 'Prompt' }), 'Count the calls');
  await user.click(form.getByRole('button', { name: 'Add to board' }));
  await form.findByText(/^The stage may have been created\. Sending it again creates no second one\./);
  cleanup();

  const again = await openForm();
  again.server.answer({ create_stage: () => made });
  await again.form.findByText(/^Draft restored/);
  await again.user.click(again.form.getByRole('button', { name: 'Add to board' }));
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  const ids = [...created(), ...again.created()].map(({ creationId }) => creationId);
  expect(ids).toHaveLength(2);
  expect(ids[0]).toBe(ids[1]);
});

it('creates two stages from two drafts that say the same', async () => {
  const { user, server, form, created } = await openForm();
  server.answer({ create_stage: () => made });
  await user.click(form.getByRole('checkbox', { name: 'Create another' }));
  for (const count of [1, 2]) {
    await user.type(form.getByRole('textbox', { name: 'Prompt' }), 'Count the calls');
    await user.click(form.getByRole('button', { name: 'Add to board' }));
    await expect.poll(created).toHaveLength(count);
    await expect.poll(() => form.getByRole<HTMLTextAreaElement>('textbox', { name: 'Prompt' }).value).toBe('');
  }
  expect(new Set(created().map(({ creationId }) => creationId)).size).toBe(2);
});

it('starts the stage and forgets its draft, also if the form is closed before the reply', async () => {
  const { user, server, form } = await openForm();
  const reply = later();
  server.answer({ create_stage: reply.answer });
  await user.type(form.getByRole('textbox', { name: 'Prompt' }), 'Count the calls');
  await user.click(form.getByRole('button', { name: /^Start/ }));
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  reply.give(made);
  await expect
    .poll(() => server.received)
    .toContainEqual({ command: 'start_stage', input: expect.objectContaining({ stageId: 'STAGE-2' }) });
  const next = await show();
  expect(next.getByRole<HTMLTextAreaElement>('textbox', { name: 'Prompt' }).value).toBe('');
});

it('says that the stage was not created, also if the form is closed before the reply', async () => {
  const { user, server, form } = await openForm();
  const reply = later();
  server.answer({ create_stage: reply.answer });
  await user.type(form.getByRole('textbox', { name: 'Prompt' }), 'Count the calls');
  await user.click(form.getByRole('button', { name: 'Add to board' }));
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  reply.give(problem('branch_taken', 'There is a branch of that name.'));
  await screen.findByText('Count the calls was not created');
  await (await show()).findByText(/^Draft restored/);
});

it('keeps what is written while the stage is created', async () => {
  const { user, server, form, created } = await openForm();
  const reply = later();
  server.answer({ create_stage: reply.answer });
  const prompt = form.getByRole<HTMLTextAreaElement>('textbox', { name: 'Prompt' });
  await user.type(prompt, 'Count the calls');
  await user.click(form.getByRole('button', { name: 'Add to board' }));
  await expect.poll(created).toHaveLength(1);
  await user.type(prompt, ' and the errors');
  reply.give(made);
  await form.findByText('Rate limits', { selector: 'a' });
  expect(prompt.value).toBe('Count the calls and the errors');
  server.answer({ create_stage: () => made });
  await user.click(form.getByRole('button', { name: 'Add to board' }));
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(new Set(created().map(({ creationId }) => creationId)).size).toBe(2);
});

it('closes only its own form when a change is stored', async () => {
  const { user, server } = await openForm();
  const { promise, resolve } = Promise.withResolvers<CommandReply<'update_stage'>>();
  server.answer({ update_stage: () => promise });
  act(() => useBoardUi.setState({ form: { kind: 'edit-stage', stageId: stage('STAGE-1').id } }));
  const form = within(await screen.findByRole('dialog', { name: /^Edit/ }));
  await user.type(form.getByRole('textbox', { name: 'Title' }), '!');
  await user.click(form.getByRole('button', { name: 'Save' }));
  await expect.poll(() => server.received.some(({ command }) => command === 'update_stage')).toBe(true);
  await user.keyboard('{Escape}');
  const next = await show();
  await user.type(next.getByRole('textbox', { name: 'Prompt' }), 'Count the calls');
  act(() => resolve({ stage: { ...stage('STAGE-1'), column: 'ready', session: null } }));
  await expect.poll(() => localStorage.getItem('callboard-stage-form:STAGE-1')).toBeNull();
  expect(useBoardUi.getState().form?.kind).toBe('new-stage');
});
