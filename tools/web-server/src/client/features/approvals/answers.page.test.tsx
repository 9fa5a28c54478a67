import type { Decision, PendingRequest } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import type { UserEvent } from '@testing-library/user-event';
import { HttpResponse } from 'msw';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';

const TITLE = 'Login form';
const exact = (name: string) => ({ name, exact: true });

/** Opens a page under these requests of one stage. */
function open(pending: PendingRequest[]) {
  const asking = { stage: stage('STAGE-1', { title: TITLE }), session: session('STAGE-1', { state: 'waiting' }) };
  const page = openPage('/', board({ stages: [asking], pending }));
  page.server.answer({
    get_drafts: () => ({ drafts: [] }),
    put_draft: ({ stageId, key, value }) => ({ draft: { stageId, key, value, updatedAt: at(2), writer: null } }),
  });
  const sent = () => page.server.received.flatMap(({ command, input }) => (command === 'approve_tool' ? [input] : []));
  return { ...page, sent };
}

const touch = (requestId: string, minutes: number) =>
  request('STAGE-1', requestId, { createdAt: at(minutes), input: { command: `touch ${requestId}` } });
/** Presses a button, which works half a second after it was drawn. */
async function press(user: UserEvent, button: HTMLElement): Promise<void> {
  await expect.poll(() => button.getAttribute('aria-disabled')).toBeNull();
  await user.click(button);
}

const shows = (form: HTMLElement, text: string) => expect.poll(() => form.textContent).toContain(text);
const run = () => screen.findByRole('dialog', { name: `${TITLE}: Run this command?` });
const denied = (of: PendingRequest): Decision =>
  decision(of, { outcome: 'denied', by: 'Bo', at: new Date().toISOString() });

it('says that somebody answered elsewhere, and nothing of an answer of its own', async () => {
  const [first, second] = [touch('a.txt', 1), touch('b.txt', 2)];
  const { user, server, sent } = open([first, second]);
  await shows(await run(), 'touch a.txt');
  server.emit('approval-resolved', denied(first));
  const notice = await screen.findByRole('alert');
  expect(notice.textContent).toMatch(/^Denied elsewhere by Bo, (just now|\d+ s ago)Login form: touch a\.txt/);
  const dialog = await run();
  await shows(dialog, 'touch b.txt');
  server.answer({
    approve_tool: () => {
      const made = decision(second, { at: new Date().toISOString() });
      server.emit('approval-resolved', made);
      return { decision: made };
    },
  });
  await press(user, within(dialog).getByRole('button', exact('Allow')));
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(sent()).toMatchObject([{ requestId: 'b.txt', decision: 'allow' }]);
  expect(screen.getAllByText(/elsewhere/)).toHaveLength(1);
});

it('says that an answer was not used because another one came first', async () => {
  const asked = touch('c.txt', 1);
  const { user, server } = open([asked]);
  server.answer({
    approve_tool: async () => {
      const refusal = await problem('already_decided', 'Bo was faster.').json();
      return HttpResponse.json({ ...refusal, decision: denied(asked) }, { status: 409 });
    },
  });
  await press(user, within(await run()).getByRole('button', exact('Allow')));
  const reported = await screen.findByRole('alert');
  expect(reported.textContent).toMatch(
    /^Denied elsewhere by Bo, .*Login form: touch c\.txtYour answer was not used\.$/,
  );
  const time = within(reported).getByText(/^(just now|\d+ s ago)$/);
  await user.hover(time);
  expect(time.title).toMatch(/\d/);
});

it('fills in the form of an MCP server, shows what is wrong at once, and what the server refuses', async () => {
  const form = request('STAGE-1', 'e1', {
    kind: 'elicitation',
    toolName: 'asker',
    displayName: 'asker',
    toolUseId: '',
    input: {
      message: 'Your name?',
      requested_schema: {
        type: 'object',
        properties: { name: { type: 'string' }, age: { type: 'integer' } },
        required: ['name'],
      },
    },
  });
  const { user, server, sent } = open([form]);
  server.answer({ approve_tool: () => problem('bad_request', 'age must be a whole number.') });
  const dialog = within(await screen.findByRole('dialog', exact(`${TITLE}: asker asks for details`)));
  dialog.getByText('Your name?');
  const send = dialog.getByRole<HTMLButtonElement>('button', exact('Send'));
  expect(send.disabled).toBe(true);
  const age = dialog.getByRole('textbox', { name: /age/ });
  await user.type(age, 'old');
  await dialog.findByText('This is not a number.');
  await user.type(dialog.getByRole('textbox', { name: /name/ }), 'Ada');
  expect(send.disabled).toBe(true);
  await user.clear(age);
  await user.type(age, '36.5');
  await press(user, send);
  within(await dialog.findByRole('alert')).getByText(/age/);
  const made = decision(form, { outcome: 'answered' });
  server.answer({
    approve_tool: () => {
      server.emit('approval-resolved', made);
      return { decision: made };
    },
  });
  await user.clear(age);
  await user.type(age, '36');
  await press(user, send);
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(sent().at(-1)).toMatchObject({ requestId: 'e1', decision: 'allow', updatedInput: { name: 'Ada', age: 36 } });
});
