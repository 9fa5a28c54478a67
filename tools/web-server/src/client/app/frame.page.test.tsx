import { sampleProject } from '@callboard/contract/samples';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../test/open-page.tsx';
import { board, request, session, stage } from '../test/samples.ts';
import { PAGES } from './pages.tsx';

const view = {
  ...board({ stages: [{ stage: stage('STAGE-1', { title: 'Login form' }) }] }),
  projects: [sampleProject({})],
};
const titleAt = async (path: string, title: string) => {
  openPage(path, view);
  await expect.poll(() => document.title).toBe(title);
};

it.each(PAGES.filter(({ title }) => title !== null))('names the page /$path in the title of the tab', async (page) => {
  const last = page.path.slice(page.path.lastIndexOf('/') + 1);
  const name = last === '' ? 'Callboard' : `${last.charAt(0).toUpperCase()}${last.slice(1)} · Callboard`;
  await titleAt(`/${page.path}`, name);
});

it('names the stage on its page', () => titleAt('/stages/STAGE-1', 'Login form · Callboard'));

it.each(['/nowhere', '/stages/STAGE-9'])('says of %s that it was not found', (path) =>
  titleAt(path, 'Not found · Callboard'),
);

it('counts who needs a person once, at the inbox, and shows no sign while all is well', async () => {
  const waiting = session('STAGE-1', { state: 'waiting' });
  openPage(
    '/decisions',
    board({ stages: [{ stage: stage('STAGE-1'), session: waiting }], pending: [request('STAGE-1', 'r1')] }),
  );
  const header = within(await screen.findByRole('banner', { hidden: true }));
  await header.findByRole('link', { name: /^Inbox ?1$/, hidden: true });
  expect(header.getAllByText('1')).toHaveLength(1);
  expect(header.queryAllByTitle('Connected')).toEqual([]);
});
