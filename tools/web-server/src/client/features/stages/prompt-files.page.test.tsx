import 'fake-indexeddb/auto';
import { AttachedFile, type StageView } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { act, fireEvent, screen, within } from '@testing-library/react';
import { createStore } from 'idb-keyval';
import { afterEach, expect, it } from 'vitest';
import { type BoardForm, useBoardUi } from '../../data/board-ui.ts';
import { readFile } from '../../lib/files.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, stage } from '../../test/samples.ts';
import { readStoredFiles, writeStoredFiles } from './form-files.ts';

const BYTES = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const png = (name: string) =>
  new File([Uint8Array.from(atob(BYTES), (letter) => letter.charCodeAt(0))], name, { type: 'image/png' });
const content = (name: string) => ({ name, mediaType: 'image/png', dataBase64: BYTES });
const own = ['a', 'b'].map((one) =>
  AttachedFile.parse({ ...content(`own-${one}.png`), size: 8, fileId: `6f9619ff-8b86-4d01-b42d-00cf4fc964f${one}` }),
);
const withFiles = stage('STAGE-1', { attachments: own });
const view: StageView = { ...withFiles, column: 'ready', session: null };

afterEach(async () => {
  for (const id of ['new', 'STAGE-1']) await writeStoredFiles(`callboard-stage-files:${id}`, null);
});

async function openForm(form: BoardForm) {
  const projects = [sampleProject({ id: 'web' })];
  const page = openPage('/', { ...board({ stages: [{ stage: withFiles }] }), projects });
  page.server.answer({
    get_attachment: ({ fileId }) => ({ file: content(`${fileId}.png`) }),
    get_capabilities: () => ({ capabilities: null, from: 'stage' }),
  });
  await screen.findByRole('region', { name: 'Ready' });
  act(() => useBoardUi.setState({ form }));
  const dialog = await screen.findByRole('dialog');
  return { ...page, dialog, prompt: await within(dialog).findByRole('textbox', { name: 'Prompt' }) };
}

const newStage: BoardForm = { kind: 'new-stage', projectId: null };
const files = (dialog: HTMLElement) => within(dialog).findByRole('list', { name: 'Attached files' });
const inputOf = (received: { command: string; input: unknown }[], command: string) =>
  received.filter((one) => one.command === command).map((one) => one.input);

it('takes files by the button, by paste and by drop, and sends those that stay with the new stage', async () => {
  const { user, server, dialog, prompt } = await openForm(newStage);
  await user.type(prompt, 'Make it look like this');
  await user.upload(within(dialog).getByLabelText('Attach files'), png('chosen.png'));
  await within(dialog).findByText('chosen.png');
  fireEvent.paste(prompt, { clipboardData: { files: [png('pasted.png')] } });
  await within(dialog).findByText('pasted.png');
  fireEvent.drop(prompt, { dataTransfer: { files: [png('dropped.png')], types: ['Files'] } });
  await within(dialog).findByText('dropped.png');
  expect((await files(dialog)).querySelectorAll('img')).toHaveLength(3);
  await user.click(within(dialog).getByRole('button', { name: 'Remove chosen.png' }));

  server.answer({ create_stage: () => problem('too_many_files', 'A message can take 20 files at most.') });
  await user.click(within(dialog).getByRole('button', { name: 'Add to board' }));
  await within(dialog).findByText(/20 files at most/);
  within(dialog).getByText('pasted.png'); // a refusal loses nothing
  server.answer({ create_stage: () => ({ stage: view }) });
  await user.click(within(dialog).getByRole('button', { name: 'Add to board' }));
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(inputOf(server.received, 'create_stage').at(-1)).toMatchObject({
    prompt: 'Make it look like this',
    attachments: [content('pasted.png'), content('dropped.png')],
  });
  expect(await readStoredFiles('callboard-stage-files:new')).toBeNull();
});

it('keeps the files with the draft when the form is gone, until somebody starts over', async () => {
  const { user, dialog } = await openForm(newStage);
  await user.upload(within(dialog).getByLabelText('Attach files'), png('kept.png'));
  await within(dialog).findByText('kept.png');
  await expect.poll(() => readStoredFiles('callboard-stage-files:new')).not.toBeNull();
  act(() => useBoardUi.getState().closeForm());
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  act(() => useBoardUi.setState({ form: newStage }));
  const again = await screen.findByRole('dialog');
  await within(again).findByText('kept.png');
  await user.click(within(again).getByRole('button', { name: 'Start over' }));
  expect(within(again).queryByText('kept.png')).toBeNull();
  await expect.poll(() => readStoredFiles('callboard-stage-files:new')).toBeNull();
});

it('keeps a file that is dropped before the form has read what it kept', async () => {
  await writeStoredFiles('callboard-stage-files:new', {
    added: [{ fileId: 'kept', size: 8, content: content('kept.png') }],
    removed: [],
  });
  const free = await occupyStore();
  const { dialog } = await openForm(newStage);
  fireEvent.drop(dialog.querySelector('form') ?? dialog, {
    dataTransfer: { files: [png('dropped.png')], types: ['Files'] },
  });
  await readFile(png('read after it.png'));
  free();
  await within(dialog).findByText('kept.png');
  await within(dialog).findByText('dropped.png');
  const names = async () => (await readStoredFiles('callboard-stage-files:new'))?.added.map((one) => one.content.name);
  await expect.poll(names).toEqual(['kept.png', 'dropped.png']);
});

/** Lets nobody else read or write the browser's store of files, until it is called. */
async function occupyStore(): Promise<() => void> {
  const keyval = createStore('keyval-store', 'keyval');
  const begun = Promise.withResolvers<void>();
  let isFree = false;
  await Promise.race([
    begun.promise,
    keyval('readwrite', (store) => {
      function resume(): void {
        if (!isFree) store.get('').onsuccess = resume;
      }
      resume();
      begun.resolve();
      return Promise.resolve();
    }),
  ]);
  return () => {
    isFree = true;
  };
}

it('says why a file is refused, and takes the others', async () => {
  const { user, dialog } = await openForm(newStage);
  const movie = new File([new Uint8Array([0, 1, 2])], 'movie.mp4', { type: 'video/mp4' });
  fireEvent.drop(dialog.querySelector('form') ?? dialog, {
    dataTransfer: { files: [movie, png('fine.png')], types: ['Files'] },
  });
  await within(dialog).findByText(/movie\.mp4 cannot be sent: Claude takes images/);
  await within(dialog).findByText('fine.png');
  const many = Array.from({ length: 20 }, (_, index) => png(`${index}.png`));
  await user.upload(within(dialog).getByLabelText('Attach files'), many);
  await within(dialog).findByText(/20 files at most; these would be 21/);
});

it('shows the files of a stage that is edited, removes one, and adds one', async () => {
  const { user, server, dialog } = await openForm({ kind: 'edit-stage', stageId: withFiles.id });
  await expect.poll(async () => (await files(dialog)).querySelectorAll('img')).toHaveLength(2);
  await user.click(within(dialog).getByRole('button', { name: 'Remove own-a.png' }));
  await user.upload(within(dialog).getByLabelText('Attach files'), png('more.png'));
  await within(dialog).findByText('more.png');
  server.answer({ update_stage: () => ({ stage: view }) });
  await user.click(within(dialog).getByRole('button', { name: 'Save' }));
  const change = { files: [own[1]?.fileId], attachments: [content('more.png')] };
  await expect.poll(() => inputOf(server.received, 'update_stage')).toMatchObject([{ patch: change }]);
});

it('leaves the files of a stage alone if only its texts are edited', async () => {
  const { user, server, dialog, prompt } = await openForm({ kind: 'edit-stage', stageId: withFiles.id });
  await files(dialog);
  await user.type(prompt, ' now');
  server.answer({ update_stage: () => ({ stage: view }) });
  await user.click(within(dialog).getByRole('button', { name: 'Save' }));
  await expect.poll(() => inputOf(server.received, 'update_stage')).toHaveLength(1);
  expect(inputOf(server.received, 'update_stage')[0]).not.toHaveProperty('patch.files');
});
