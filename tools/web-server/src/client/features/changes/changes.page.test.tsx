import { MergePlan, StageId } from '@callboard/contract';
import { act, fireEvent, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { completeDialog } from '../../data/dialogs.ts';
import { fileDiff, openChanges, stageDiff } from '../../test/open-changes.ts';
import { problem } from '../../test/page-server.ts';
import { at, session } from '../../test/samples.ts';

const commit = (letter: string, subject: string) => ({ id: letter.repeat(40), subject, author: 'Ada', at: at(0) });
const base64 = (text: string) => btoa(text);

it('reads the changes again when the session takes a step, and when a person comes back to them', async () => {
  const { user, server, sent } = await openChanges(stageDiff([]));
  const reads = () => sent('get_diff').length;
  await expect.poll(reads).toBe(1);

  const working = session('STAGE-1', { state: 'busy', stateSince: at(1) });
  server.emit('session-updated', working);
  await expect.poll(reads).toBe(2);
  server.emit('session-updated', { ...working, costUsd: 1 }); // no step
  server.emit('session-updated', { ...working, state: 'waiting', stateSince: at(2) });
  await expect.poll(reads).toBe(3);
  const changes = { files: 1, additions: 2, deletions: 0 };
  server.emit('session-updated', { ...working, state: 'waiting', stateSince: at(2), changes });
  await expect.poll(reads).toBe(4);

  await user.click(screen.getByRole('link', { name: /Changes/ }));
  await expect.poll(reads).toBe(5);
});

it('shows all changes, those of the last turn or of one commit, and says which', async () => {
  const commits = [commit('e', 'Mend the form'), commit('f', 'Write the form')];
  const all = stageDiff([fileDiff('a.ts'), fileDiff('b.ts')], { commits });
  const { user, server, changes, sent } = await openChanges(all);
  server.answer({
    get_diff: ({ path, range }) => {
      if (path !== undefined)
        return { diff: { ...all, files: [fileDiff(path, { patch: '@@ -1 +1,2 @@\n same\n+x\n' })] } };
      if (range === undefined) return { diff: all };
      const part = {
        base: 'd'.repeat(40),
        commits: [],
        files: [fileDiff(range === 'turn' ? 'b.ts' : 'a.ts', { version: '3..4' })],
      };
      return { diff: { ...all, ...part, since: range === 'turn' ? at(5) : null } };
    },
  });
  const names = () => changes.getAllByRole('heading', { level: 2 }).map((head) => head.textContent);
  const choice = await changes.findByRole('combobox', { name: 'Which changes' });
  expect(
    within(choice)
      .getAllByRole('option')
      .map((option) => option.textContent),
  ).toEqual([...['All changes', 'Last turn', 'eeeeeee Mend the form', 'fffffff Write the form']]);
  changes.getByText(/compared with/);
  expect(names()).toHaveLength(2);

  await user.selectOptions(choice, 'Last turn');
  await changes.findByText(/^since the turn before ended/);
  expect(names()).toEqual([expect.stringContaining('b.ts')]);
  // The patch comes from the same two moments as the list.
  await expect
    .poll(() => sent('get_diff'))
    .toContainEqual(expect.objectContaining({ path: 'b.ts', base: 'd'.repeat(40) }));

  await user.selectOptions(choice, 'fffffff Write the form');
  await changes.findByText('in commit fffffff');
  expect(names()).toEqual([expect.stringContaining('a.ts')]);
  expect(sent('get_diff')).toContainEqual(expect.objectContaining({ stageId: 'STAGE-1', range: 'f'.repeat(40) }));

  await user.selectOptions(choice, 'All changes');
  await changes.findByText(/compared with/);
  expect(names()).toHaveLength(2);
});

it('reads thousands of files page by page, from the same moment, and no patch of a file that has not changed', async () => {
  const all = Array.from({ length: 1_200 }, (_, n) =>
    fileDiff(`src/file-${n}.ts`, { status: 'added', oldMode: null, version: `..${n}` }),
  );
  const { user, server, changes, sent } = await openChanges(stageDiff([]));
  let diff = stageDiff(all);
  server.answer({
    get_diff({ path, from, limit }) {
      if (path !== undefined) return { diff: { ...diff, files: [fileDiff(path, { patch: '@@ -0,0 +1 @@\n+x\n' })] } };
      const [first, most] = [Number(from ?? 0), Number(limit)];
      return { diff: { ...diff, files: diff.files.slice(first, first + most), total: diff.files.length } };
    },
  });
  server.emit('session-updated', session('STAGE-1', { state: 'busy', stateSince: at(1) }));
  await changes.findByText(/^1,?200 files/);
  const { base, tree } = diff;
  const pages = sent('get_diff').filter((input) => 'from' in Object(input));
  expect(pages).toMatchObject([
    { base, tree, from: '500' },
    { base, tree, from: '1000' },
  ]);
  await user.click(changes.getByRole('button', { name: 'Show the tree of files' }));
  const files = changes.getByRole('tree');
  // What is out of sight is not there, and what is there says where it is.
  expect(within(files).getAllByRole('treeitem').length).toBeLessThan(100);
  const item = await within(files).findByRole('treeitem', { name: /file-1\.ts/ });
  expect(['aria-level', 'aria-posinset', 'aria-setsize'].map((name) => item.getAttribute(name))).toEqual([
    ...['2', '2', '1200'],
  ]);
  await changes.findAllByText('x');

  const reads = sent('get_diff').filter((input) => 'path' in Object(input));
  await expect.poll(() => changes.queryAllByRole('status').length).toBe(0);
  diff = stageDiff(
    all.map((file, n) => (n === 0 ? { ...file, version: '..new' } : file)),
    { tree: 'e'.repeat(40) },
  );
  server.emit('session-updated', session('STAGE-1', { state: 'waiting', stateSince: at(2) }));
  await expect
    .poll(() => sent('get_diff'))
    .toContainEqual(expect.objectContaining({ path: 'src/file-0.ts', tree: 'e'.repeat(40) }));
  await expect.poll(() => changes.queryAllByRole('status').length).toBe(0);
  const again = sent('get_diff').filter((input) => 'path' in Object(input) && !reads.includes(input));
  expect(again.filter((input) => Object(input).tree === 'e'.repeat(40))).toMatchObject([{ path: 'src/file-0.ts' }]);
});

it('reads a long patch part by part as its end comes into view, and says that a line is cut', async () => {
  const { server, changes, sent } = await openChanges(stageDiff([fileDiff('a.ts', { additions: 3 })]));
  server.answer({
    get_diff: ({ path, from }) => {
      if (path === undefined) return { diff: stageDiff([fileDiff('a.ts', { additions: 3 })]) };
      const part =
        from === undefined
          ? { patch: '@@ -1 +1,4 @@\n same\n+one\n', next: 23, cut: [{ line: 2, bytes: 5_000_000 }] }
          : { patch: '+two\n+three\n', next: null, cut: [] };
      return { diff: stageDiff([fileDiff('a.ts', part)]) };
    },
  });
  await changes.findByText(/This line is 5\.0 MB long: only its beginning is shown/);
  await changes.findByText('three');
  changes.getByRole('button', { name: 'Comment on line 4' });
  expect(sent('get_diff').filter((input) => 'path' in Object(input))).toMatchObject([{ path: 'a.ts' }, { from: '23' }]);
});

it('moves through the tree by keys, opens and closes folders, and goes to a file', async () => {
  const files = ['src/a.ts', 'src/b.ts', 'z.ts'].map((path) => fileDiff(path));
  const patches = Object.fromEntries(files.map(({ path }) => [path, '@@ -1 +1,2 @@\n same\n+x\n']));
  const { user, changes } = await openChanges(stageDiff(files), patches);
  await user.click(await changes.findByRole('button', { name: 'Show the tree of files' }));
  const tree = changes.getByRole('tree');
  const active = () => document.getElementById(tree.getAttribute('aria-activedescendant') ?? '')?.textContent;
  await user.click(within(tree).getByRole('treeitem', { name: 'src' }));
  await expect.poll(() => within(tree).queryByRole('treeitem', { name: /b\.ts/ })).toBeNull();
  await user.click(within(tree).getByRole('treeitem', { name: 'src' }));
  await within(tree).findByRole('treeitem', { name: /b\.ts/ });
  act(() => tree.focus());
  await user.keyboard('{Home}');
  await expect.poll(active).toContain('src');
  await user.keyboard('{ArrowLeft}');
  await expect.poll(() => within(tree).getAllByRole('treeitem').length).toBe(2);
  await user.keyboard('{ArrowRight}{ArrowRight}{ArrowDown}');
  await expect.poll(active).toContain('b.ts');
  await user.keyboard('{Enter}');
  await expect.poll(() => document.activeElement?.getAttribute('aria-label')).toBe('Changed files');
});

it('says why a range cannot be shown, and leads back to all changes', async () => {
  const { user, server, changes } = await openChanges(stageDiff([fileDiff('a.ts')]), { 'a.ts': '@@ -1 +1 @@\n+x\n' });
  const choice = await changes.findByRole('combobox', { name: 'Which changes' });
  server.answer({ get_diff: () => problem('head_moved', 'Git has forgotten what the last turn began with.') });
  await user.selectOptions(choice, 'Last turn');
  await changes.findByText(/Git has forgotten/);
  server.answer({ get_diff: () => ({ diff: stageDiff([fileDiff('c.ts')]) }) });
  await user.click(changes.getByRole('button', { name: 'Show all changes' }));
  await changes.findByText(/compared with/);
});

it('shows the whole file around its changes on demand', async () => {
  const files = [fileDiff('a.ts'), fileDiff('new.ts', { status: 'added', oldMode: null })];
  const { user, server, changes, sent } = await openChanges(stageDiff(files));
  server.answer({
    get_diff: ({ path, context }) => {
      if (path === undefined) return { diff: stageDiff(files) };
      const patch =
        context === 'whole' ? '@@ -1,2 +1,3 @@\n far away\n near\n+added\n' : '@@ -2 +2,2 @@\n near\n+added\n';
      return { diff: stageDiff([fileDiff(path, { patch })]) };
    },
  });
  await changes.findAllByText('added', { selector: 'span' });
  // A new file is whole as it is.
  expect(changes.queryByRole('button', { name: 'Whole file new.ts' })).toBeNull();
  await user.click(await changes.findByRole('button', { name: 'Whole file a.ts' }));
  await changes.findByText('far away');
  expect(sent('get_diff').filter((input) => 'context' in Object(input))).toMatchObject([
    { path: 'a.ts', context: 'whole' },
  ]);
  await user.click(changes.getByRole('button', { name: 'Whole file a.ts' }));
  await expect.poll(() => changes.queryByText('far away')).toBeNull();
});

it('shows images before and after, and of other binary files only how large they are', async () => {
  const binary = { isBinary: true, additions: 0 };
  const files = [fileDiff('data.bin', { ...binary, status: 'added', oldMode: null }), fileDiff('logo.png', binary)];
  const { server, changes, sent } = await openChanges(stageDiff(files));
  const image = (bytes: number, text: string) => ({ bytes, mediaType: 'image/png' as const, dataBase64: base64(text) });
  server.answer({
    get_diff_content: ({ path }) =>
      path === 'logo.png'
        ? { before: image(70, 'old'), after: image(2048, 'new') }
        : { before: null, after: { bytes: 5, mediaType: null, dataBase64: null } },
  });
  const before = await changes.findByRole('img', { name: 'Before: logo.png' });
  expect(before.getAttribute('src')).toBe(`data:image/png;base64,${base64('old')}`);
  const after = changes.getByRole('img', { name: 'After: logo.png' });
  expect(after.getAttribute('src')).toBe(`data:image/png;base64,${base64('new')}`);
  expect(changes.getAllByRole('figure').map((figure) => figure.textContent)).toEqual([
    'Added 5 B',
    'Before 70 B',
    'After 2.0 kB',
  ]);
  expect(changes.getAllByText('A binary file: its content is not shown.')).toHaveLength(1);
  const { base, tree } = stageDiff([]);
  expect(sent('get_diff_content')).toContainEqual({ stageId: 'STAGE-1', path: 'logo.png', base, tree });
});

it('shows a drawing as an image, never as markup, and as text on one press', async () => {
  const markup = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  const patches = { 'icon.svg': `@@ -1 +1 @@\n-<svg/>\n+${markup}\n`, 'broken.svg': '@@ -0,0 +1 @@\n+nothing\n' };
  const files = [fileDiff('broken.svg', { status: 'added', oldMode: null }), fileDiff('icon.svg', { deletions: 1 })];
  const { user, server, changes } = await openChanges(stageDiff(files), patches);
  const svg = (text: string) => ({ bytes: text.length, mediaType: 'image/svg+xml' as const, dataBase64: base64(text) });
  server.answer({
    get_diff_content: ({ path }) =>
      path === 'icon.svg'
        ? { before: svg('<svg/>'), after: svg(markup) }
        : { before: null, after: { bytes: 8, mediaType: null, dataBase64: null } },
  });
  const after = await changes.findByRole('img', { name: 'After: icon.svg' });
  expect(after.tagName).toBe('IMG');
  expect(after.getAttribute('src')).toBe(`data:image/svg+xml;base64,${base64(markup)}`);
  expect(document.querySelector('script')).toBeNull();
  expect(changes.queryByText(/alert/)).toBeNull();
  await changes.findByText('This image cannot be shown.');

  await user.click(changes.getByRole('button', { name: 'Show icon.svg as text' }));
  await changes.findAllByText(/alert/);
  expect(changes.queryByRole('img', { name: 'After: icon.svg' })).toBeNull();
  await user.click(changes.getByRole('button', { name: 'Show broken.svg as text' }));
  await changes.findByText('nothing');
  await user.click(changes.getByRole('button', { name: 'Show icon.svg as an image' }));
  fireEvent.error(await changes.findByRole('img', { name: 'After: icon.svg' }));
  await changes.findByText('The browser cannot draw this image.');
});

it('keeps the head of the file in view at the top, and none below the last file', async () => {
  const { changes } = await openChanges(stageDiff([fileDiff('a.ts'), fileDiff('b.ts')]));
  const list = await changes.findByRole('region', { name: 'Changed files' });
  const pinned = () => list.querySelector('[aria-hidden] [aria-label^="Viewed"]')?.getAttribute('aria-label');
  await expect.poll(pinned).toBe('Viewed a.ts');
  list.scrollTop = 99_999;
  fireEvent.scroll(list);
  await expect.poll(pinned).toBeUndefined();
  list.scrollTop = 0;
  fireEvent.scroll(list);
  await expect.poll(pinned).toBe('Viewed a.ts');
});

it('says of every kind of change what it is, and shows hidden characters in names and lines as codes', async () => {
  const added = { status: 'added' as const, oldMode: null };
  const files = [
    fileDiff('README.md'),
    fileDiff('empty.txt', { ...added, additions: 0 }),
    fileDiff('image.bin', { ...added, isBinary: true, additions: 0 }),
    fileDiff('odd \u202e name.txt', added),
    fileDiff('link', { oldMode: '100644', newMode: '120000' }),
  ];
  const patches = {
    'README.md': '@@ -1 +1 @@\n-# Shop\n+# The shop\n',
    'empty.txt': '',
    'odd \u202e name.txt': '@@ -0,0 +1 @@\n+a\u200bb\n',
    link: '@@ -0,0 +1 @@\n+/etc/hostname\n',
  };
  const { server, changes } = await openChanges(stageDiff(files), patches);
  server.answer({
    get_diff_content: () => ({ before: null, after: { bytes: 5, mediaType: null, dataBase64: null } }),
  });
  await changes.findByText('A binary file: its content is not shown.');
  changes.getByText('An empty file.');
  await changes.findByText('# The shop');
  changes.getAllByText('modified');
  expect(changes.getAllByRole('note', { name: 'Hidden characters' }).length).toBeGreaterThan(0);
  const list = changes.getByRole('region', { name: 'Changed files' });
  expect(list.textContent).toContain('odd U+202E name.txt');
  await expect.poll(() => list.textContent).toContain('aU+200Bb');
});

it('folds what was viewed, on every device, and all files at once', async () => {
  const files = [fileDiff('README.md'), fileDiff('a.ts')];
  const patches = { 'README.md': '@@ -1 +1 @@\n+# The shop\n', 'a.ts': '@@ -1 +1 @@\n+one\n' };
  const { user, server, changes, sent } = await openChanges(stageDiff(files), patches);
  let viewed: Record<string, string> = {};
  server.answer({
    get_viewed: () => ({ viewed }),
    set_viewed: ({ path, version }) => {
      viewed = version === null ? {} : { [path]: version };
      return { viewed };
    },
  });
  await changes.findByText('# The shop');
  const [box = document.body] = changes.getAllByRole('checkbox', { name: 'Viewed README.md' });
  await user.click(box);
  await expect.poll(() => changes.queryByText('# The shop')).toBeNull();
  expect(sent('set_viewed')).toMatchObject([{ path: 'README.md' }]);
  await screen.findByText(/1 of 2 viewed/);
  changes.getByText('one');
  await user.click(changes.getByRole('button', { name: 'Expand all' }));
  await changes.findByText('# The shop');
  await user.click(changes.getByRole('button', { name: 'Collapse all' }));
  await expect.poll(() => [changes.queryByText('# The shop'), changes.queryByText('one')]).toEqual([null, null]);
});

it('takes nothing for looked at that arrives when a person has left the changes', async () => {
  const seen = stageDiff([fileDiff('a.ts')]);
  const { user, server, changes, sent } = await openChanges(seen, { 'a.ts': '@@ -1 +1 @@\n+x\n' });
  await changes.findByText(/compared with/);
  const newer = { head: 'd'.repeat(40), tree: 'e'.repeat(40) };
  const plan = MergePlan.parse({
    branch: seen.branch,
    ...newer,
    into: 'main',
    commits: 2,
    files: 1,
    uncommitted: [],
    uncommittedCount: 0,
    conflicts: [],
    refusal: null,
  });
  const late = Promise.withResolvers<void>();
  server.answer({
    get_completion: () => ({ completion: { plan, undo: null } }),
    async get_diff({ path }) {
      if (path === undefined) await late.promise;
      return { diff: { ...seen, ...newer, files: [fileDiff('a.ts'), fileDiff('b.ts')] } };
    },
  });
  const reads = sent('get_diff').length;
  const lastTurn = { outcome: 'succeeded', message: '', at: at(1) };
  server.emit('session-updated', session('STAGE-1', { state: 'idle', lastTurn, stateSince: at(1) }));
  await expect.poll(() => sent('get_diff').length).toBeGreaterThan(reads);
  await user.click(screen.getByRole('link', { name: 'Transcript' }));
  act(() => completeDialog.open(StageId.parse('STAGE-1')));
  const dialog = within(await screen.findByRole('dialog', { name: 'Finish Login form' }));
  await dialog.findByText('The work has changed since you looked at it.');
  late.resolve();
  await expect.poll(() => document.body.textContent).toContain('Changes 2'); // it has arrived, behind the dialog
  await user.click(dialog.getByRole('button', { name: 'Look at the changes' }));
  await screen.findByRole('region', { name: 'Changes' });
  act(() => completeDialog.open(StageId.parse('STAGE-1')));
  await screen.findByRole('button', { name: 'Merge into main' });
});
