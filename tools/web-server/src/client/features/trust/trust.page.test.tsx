import { type ProjectTrust, TrustItem } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { board, session, stage } from '../../test/samples.ts';

const exact = (name: string) => ({ name, exact: true });
const item = (kind: string, value: string) =>
  TrustItem.parse({ kind, text: `It is a ${kind}.`, value, file: '.claude/settings.json', isNew: true });
const ITEMS = [
  item('hook', 'node .claude/check.js'),
  item('helper', './scripts/key.sh'),
  item('env', 'ANTHROPIC_BASE_URL=http://127.0.0.1:1'),
  item('rule', 'Bash(npm run *)'),
  item('mode', 'acceptEdits'),
];
const TRUST: ProjectTrust = { needed: true, hash: 'h1', items: ITEMS };
const own = stage('STAGE-1', { title: 'Login form' });

/** Opens a page of a project with these fields. */
function open(path: string, fields: object, launched: Record<string, unknown> = {}) {
  const project = sampleProject({ id: own.projectId, name: 'storefront', ...fields });
  const view = board({ stages: [{ stage: own, session: session('STAGE-1', launched) }] });
  const page = openPage(path, { ...view, projects: [project] });
  page.server.answer({
    get_trust: () => ({ trust: TRUST }),
    get_drafts: () => ({ drafts: [] }),
    get_transcript: () => ({ entries: [], total: 0 }),
    trust_project: () => ({ project: { ...project, trust: { ...TRUST, needed: false } } }),
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map(({ input }) => input);
  return { ...page, sent, project };
}

it('asks on the board whether to trust a repository, names all that it would switch on, and is put off by one press', async () => {
  const { user, sent } = open('/', { trust: TRUST });
  await user.click(await screen.findByRole('button', exact('Review the settings of storefront')));
  const dialog = within(await screen.findByRole('dialog', { name: 'Trust storefront?' }));
  for (const title of ['Hooks', 'Helpers', 'Environment', 'Rules', 'Modes'])
    await dialog.findByRole('region', exact(title));
  dialog.getByText('ANTHROPIC_BASE_URL=http://127.0.0.1:1');
  await user.click(dialog.getByRole('button', exact('Not now')));
  const notice = () => screen.queryByRole('button', exact('Review the settings of storefront'));
  await expect.poll(notice).toBeNull();
  expect(sent('trust_project')).toEqual([]);
});

it('says on the card what a session goes without, and trusts exactly what was shown', async () => {
  const { user, sent } = open('/', {}, { state: 'idle', leftOut: { summary: '1 hook', unavailable: [] } });
  const card = within(await screen.findByRole('article', exact('Login form')));
  await card.findByText(/Without the repository’s settings/);
  await user.click(card.getByRole('button', exact('Review')));
  const dialog = within(await screen.findByRole('dialog', { name: 'Trust storefront?' }));
  await user.click(await dialog.findByRole('button', exact('Trust this repository')));
  await expect.poll(() => sent('trust_project')).toEqual([{ projectId: own.projectId, hash: 'h1' }]);
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
});

it('shows new git settings above the board, in full and with their hidden characters, and accepts an agreement to exactly these', async () => {
  const value = '/tmp/<b>watch</b>\u202e';
  const items = [{ kind: 'config' as const, name: 'core.fsmonitor', value, file: '.git/config', contents: null }];
  const { user, server, sent, project } = open('/', { gitSettings: { needed: true, hash: 'g1', items } });
  await user.click(await screen.findByRole('button', { name: /^Review the git settings of/ }));
  const dialog = within(await screen.findByRole('dialog'));
  await dialog.findByText('core.fsmonitor');
  expect(screen.getByRole('dialog').textContent).toContain('/tmp/<b>watch</b>U+202E');
  dialog.getByRole('note', { name: 'Hidden characters' });
  server.answer({
    agree_git_settings: () => {
      const agreed = { ...project, gitSettings: { needed: false, hash: '', items: [] } };
      server.emit('project-updated', { projectId: project.id, project: agreed });
      return { project: agreed };
    },
  });
  await user.click(dialog.getByRole('button', { name: 'Agree' }));
  await dialog.findByText(/You have agreed to every git setting/);
  expect(sent('agree_git_settings')).toEqual([{ projectId: own.projectId, hash: 'g1' }]);
});
