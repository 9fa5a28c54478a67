import { randomUUID } from 'node:crypto';
import type { StageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { testQueue, textFile } from '../../../test/support/test-queue.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { createDraftFiles, createDrafts } from './drafts.ts';

const note = (text: string) => textFile('note.txt', text);

async function setUp() {
  const session = await busyTestSession();
  const { store, stageId } = session;
  const files = createDraftFiles({ store });
  const queue = testQueue(session);
  const listed = async () =>
    (await store.read.drafts.listOf(stageId)).find(({ key }) => key === 'files')?.value ?? null;
  return { session, store, stageId, files, queue, listed };
}

it('stores files for the next message, lists them in a draft, and removes them', async () => {
  const { session, files, stageId, listed } = await setUp();
  const [a, b] = [randomUUID(), randomUUID()];
  expect(await files.add(stageId, a, note('one'))).toEqual({
    fileId: a,
    name: 'note.txt',
    mediaType: 'text/plain',
    size: 3,
  });
  await files.add(stageId, b, note('two'));
  await files.add(stageId, a, note('one')); // as if the reply had been lost
  expect(await listed()).toMatchObject([{ fileId: a }, { fileId: b }]);
  expect(await files.get(stageId, b)).toEqual(note('two'));
  await files.remove(stageId, a);
  expect(session.events('draft-updated').at(-1)).toMatchObject({ key: 'files', value: [{ fileId: b }] });
  await expect(files.get(stageId, a)).rejects.toMatchObject({ code: 'unknown_file' });
  await expect(files.remove(stageId, a)).rejects.toMatchObject({ code: 'unknown_file' });
  await expect(files.add('STAGE-99' as StageId, randomUUID(), note('x'))).rejects.toMatchObject({
    code: 'unknown_stage',
  });
});

it('attaches either all of the files to a message or none', async () => {
  const { session, files, queue, stageId, listed } = await setUp();
  const [a, gone] = [randomUUID(), randomUUID()];
  await files.add(stageId, a, note('one'));
  const withGone = { message: 'Read these', files: [a, gone] };
  await expect(queue.send(stageId, withGone, 'Bo')).rejects.toMatchObject({ code: 'unknown_file' });
  expect(await listed()).toMatchObject([{ fileId: a }]);
  expect(await session.queue()).toEqual([]);
  await queue.send(stageId, { message: 'Read it', files: [a] }, 'Bo');
  expect((await session.queue())[0]?.attachments).toMatchObject([{ name: 'note.txt' }]);
  expect(await listed()).toBeNull();
});

it('accepts no more files than one message can have, and deletes old files that were never sent', async () => {
  const { store, files, stageId, listed } = await setUp();
  for (let i = 0; i < 20; i += 1) await files.add(stageId, randomUUID(), note(`${i}`));
  await expect(files.add(stageId, randomUUID(), note('21'))).rejects.toMatchObject({ code: 'too_many_files' });
  await files.forgetOlder('2020-01-01T00:00:00.000Z');
  expect(await listed()).toHaveLength(20);
  await files.forgetOlder('2100-01-01T00:00:00.000Z');
  expect(await listed()).toBeNull();
  expect(await store.read.draftFiles.addedBefore('2100-01-01T00:00:00.000Z')).toEqual([]);
});

it('changes the list of files only by adding and removing files', async () => {
  const { store, files, queue, stageId } = await setUp();
  const fileId = randomUUID();
  await files.add(stageId, fileId, note('one'));
  const put = createDrafts({ store }).put({ stageId, key: 'files', value: 'nonsense', writer: null });
  await expect(put).rejects.toMatchObject({ code: 'bad_request' });
  expect(await queue.send(stageId, { message: 'Look', mode: 'append', files: [fileId] }, 'Bo')).toMatchObject({
    status: 'queued',
  });
});

it('refuses a file whose content is not what it is called, also with a message', async () => {
  const { files, queue, stageId, listed } = await setUp();
  const pdf = { name: 'shot.png', mediaType: 'image/png', dataBase64: btoa('%PDF-1.4 %%EOF') };
  const refused = { code: 'bad_file', message: expect.stringContaining('shot.png is a PDF document') };
  await expect(files.add(stageId, randomUUID(), pdf)).rejects.toMatchObject(refused);
  expect(await listed()).toBeNull();
  await expect(queue.send(stageId, { message: 'Look', attachments: [pdf] }, 'Ada')).rejects.toMatchObject(refused);
});
