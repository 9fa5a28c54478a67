import { CommentId, type SearchResult } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { paletteDialog } from '../../data/dialogs.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';

const login = stage('STAGE-1', { title: 'Login form' });
const refunds = stage('STAGE-2', { title: 'Refunds' });
const view = board({ stages: [{ stage: login, session: session('STAGE-1') }, { stage: refunds }] });

const result = (of: typeof login, index: number, change: Partial<SearchResult> = {}): SearchResult => ({
  stageId: of.id,
  kind: 'text',
  index,
  snippet: 'The rate is limited',
  marks: [[4, 8]],
  by: null,
  toolName: null,
  at: at(index),
  ...change,
});

const links = () => screen.getAllByRole('link').flatMap((link) => (link.dataset.kind ? [link] : []));

it('shows what is found under its stage, with the words marked, and leads to the place', async () => {
  const { server } = openPage('/search?q=rate', view);
  server.answer({
    search: () => ({
      results: [result(login, 12), result(refunds, 7), result(login, 3, { kind: 'tool', toolName: 'Bash' })],
      next: null,
      indexing: null,
    }),
  });
  await screen.findByRole('heading', { name: /^Login form/ });
  expect(screen.getAllByRole('heading', { level: 2 }).map((one) => one.textContent)).toEqual([
    'Login formSTAGE-1',
    'RefundsSTAGE-2',
  ]);
  const [first, second] = links();
  expect(first?.getAttribute('href')).toBe('/stages/STAGE-1?entry=12&mark=rate');
  expect(second?.textContent).toMatch(/^Command/);
  expect(within(screen.getByRole('region', { name: 'Results' })).getAllByText('rate')[0]?.tagName).toBe('MARK');
});

it('shows a piece of Markdown without its signs, and other texts as they are', async () => {
  const { server } = openPage('/search?q=rate', view);
  const snippet = '## Done The **rate** is in `rates.ts`';
  const fields = { snippet, marks: [[14, 18]] as [number, number][] };
  const results = [result(login, 1, { kind: 'text', ...fields }), result(login, 2, { kind: 'tool', ...fields })];
  server.answer({ search: () => ({ results, next: null, indexing: null }) });
  await screen.findByRole('heading', { name: /^Login form/ });
  expect(links()[0]?.textContent).toContain('Done The rate is in rates.ts');
  expect(links()[1]?.textContent).toContain(snippet);
});

it('names the file and line of a comment, and leads to it in the changes', async () => {
  const { user, server } = openPage('/search?q=rate', view);
  const comment = (id: string, change: Partial<SearchResult> = {}): SearchResult => {
    const place = { path: 'src/app.ts', side: 'new' as const, line: 12, endLine: 14, isFinding: false };
    const fields = { kind: 'comment' as const, index: undefined, by: 'Ada', ...change };
    return result(login, 1, { comment: { id: CommentId.parse(id), ...place }, ...fields });
  };
  const finding = comment('c2', { by: 'Claude' });
  const found = [comment('c1'), { ...finding, comment: finding.comment && { ...finding.comment, isFinding: true } }];
  server.answer({ search: () => ({ results: found, next: null, indexing: null }) });
  await screen.findByRole('heading', { name: /^Login form/ });
  expect(links().map((link) => link.textContent)).toEqual([
    expect.stringMatching(/^Comment, Adasrc\/app\.ts:12The rate is limited/),
    expect.stringMatching(/^Claude’s reviewsrc\/app\.ts:12The rate is limited/),
  ]);
  expect(links()[0]?.getAttribute('href')).toBe('/stages/STAGE-1?tab=changes&comment=c1');
  await user.selectOptions(screen.getByRole('combobox', { name: 'Kind' }), 'Review comments');
  await expect.poll(() => server.received.at(-1)?.input).toMatchObject({ kind: 'comment' });
});

it('keeps words and filters in the address, and asks for them', async () => {
  const { user, server } = openPage('/search', view);
  server.answer({ search: () => ({ results: [], next: null, indexing: null }) });
  await user.type(await screen.findByRole('textbox', { name: 'Search' }), 'rate');
  await user.selectOptions(screen.getByRole('combobox', { name: 'Kind' }), 'Decisions');
  await user.selectOptions(screen.getByRole('combobox', { name: 'Time' }), 'Last 7 days');
  await expect.poll(() => location.search).toBe('?q=rate&kind=decision&when=week');
  await expect.poll(() => server.received.at(-1)).toMatchObject({ input: { q: 'rate', kind: 'decision' } });
  expect(server.received.at(-1)?.input).toHaveProperty('since');
  expect((await screen.findByText(/^No results for/)).textContent).toMatch(/^No results for rate with these filters/);
});

it('is worked through by keys', async () => {
  const { user, server } = openPage('/search?q=rate', view);
  server.answer({ search: () => ({ results: [result(login, 12), result(refunds, 7)], next: null, indexing: null }) });
  await screen.findByRole('heading', { name: /^Login form/ });
  await user.keyboard('{Enter}');
  expect(document.activeElement).toBe(links()[0]);
  await user.keyboard('j');
  expect(document.activeElement).toBe(links()[1]);
  await user.keyboard('kk');
  expect(document.activeElement).toBe(screen.getByRole('textbox', { name: 'Search' }));
});

it('says that the index is being built, until it is', async () => {
  let indexing: { done: number; total: number } | null = { done: 12_000, total: 90_000 };
  const { server } = openPage('/search?q=rate', view);
  server.answer({ search: () => ({ results: [result(login, 12)], next: null, indexing }) });
  const words = 'Indexing 12,000 of 90,000 entries; results may be incomplete';
  await screen.findByText(words);
  indexing = null;
  await expect.poll(() => screen.queryByText(words)).toBeNull();
});

it('says why nothing could be searched', async () => {
  const { server } = openPage('/search?q=rate', view);
  server.answer({ search: () => problem('search_unavailable', 'Search is not working right now: the disk is full.') });
  await screen.findByText(/the disk is full/);
});

it('finds in transcripts from the palette, below the stages, and opens all results', async () => {
  onTestFinished(paletteDialog.close);
  const { user, server } = openPage('/', view);
  server.answer({
    search: () => ({
      results: [result(login, 1, { kind: 'title', index: undefined, snippet: 'Login form' }), result(refunds, 7)],
      next: null,
      indexing: null,
    }),
  });
  await screen.findByRole('region', { name: 'Ready' });
  await user.keyboard('{Control>}k{/Control}');
  await user.type(await screen.findByRole('combobox', { name: 'Search or command' }), 'login');
  const group = within(await screen.findByRole('group', { name: 'In transcripts' }));
  expect(group.getAllByRole('option').map((one) => one.textContent)).toEqual(['The rate is limitedRefunds · Claude']);
  expect(screen.getAllByRole('option')[0]?.textContent).toMatch(/^Log/);
  await user.click(screen.getByRole('option', { name: 'All results for "login"' }));
  await expect.poll(() => `${location.pathname}${location.search}`).toBe('/search?q=login');
});
