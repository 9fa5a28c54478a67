import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';

const LABEL = 'Let it reach packages.example, files.example while it runs';
const exact = (name: string) => ({ name, exact: true });
const hosts = ['packages.example', 'files.example'];

/** Opens a page under a request for `npm ci`. */
async function open(fields: { hosts?: string[] }) {
  const asked = request('STAGE-1', 'install', { input: { command: 'npm ci' }, createdAt: at(1), ...fields });
  const asking = {
    stage: stage('STAGE-1', { title: 'Login form' }),
    session: session('STAGE-1', { state: 'waiting' }),
  };
  const { server, user } = openPage('/', board({ stages: [asking], pending: [asked] }));
  server.answer({
    get_drafts: () => ({ drafts: [] }),
    put_draft: ({ stageId, key, value }) => ({ draft: { stageId, key, value, updatedAt: at(2), writer: null } }),
    approve_tool: () => ({ decision: decision(asked) }),
  });
  const form = within(await screen.findByRole('dialog', { name: 'Login form: Run this command?' }));
  const sent = () => server.received.flatMap(({ command, input }) => (command === 'approve_tool' ? [input] : []));
  async function press(name: string): Promise<void> {
    const button = form.getByRole('button', exact(name));
    await expect.poll(() => button.getAttribute('aria-disabled')).toBeNull();
    await user.click(button);
  }
  return { form, user, sent, press };
}

const answer = { stageId: 'STAGE-1', requestId: 'install', decision: 'allow' };

it('names the hosts that a command needs, and allows them with it by one tick', async () => {
  const { form, user, sent, press } = await open({ hosts });
  const tick = form.getByRole('checkbox', { name: LABEL });
  expect(tick).toHaveProperty('checked', false);
  await user.click(tick);
  expect(form.queryByRole('button', exact('Allow'))).toBeNull();
  await press('Allow with network');
  await expect.poll(sent).toEqual([{ ...answer, hosts }]);
});

it('allows the command alone without the tick', async () => {
  const { user, form, sent, press } = await open({ hosts });
  await user.click(form.getByRole('checkbox', { name: LABEL }));
  await user.click(form.getByRole('checkbox', { name: LABEL }));
  await press('Allow');
  await expect.poll(sent).toEqual([answer]);
});

it('has no tick for a command that names no host', async () => {
  const { form } = await open({});
  expect(form.queryByRole('checkbox')).toBeNull();
});
