import { MessageId, REPLACED_PREFIX, ReplacedMessage } from '@callboard/contract';
import { expect, it } from 'vitest';
import { testQueue, textFile } from '../../../test/support/test-queue.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { createDraftFiles } from './drafts.ts';

const note = (text: string) => textFile(`${text}.txt`, text);

async function setUp() {
  const session = await busyTestSession();
  const { store, stageId } = session;
  const files = createDraftFiles({ store });
  const queue = testQueue(session);
  const replacedMessages = async () => {
    const saved = (await store.read.drafts.listOf(stageId)).filter(({ key }) => key.startsWith(REPLACED_PREFIX));
    return saved.map(({ key, value }) => ({
      ...ReplacedMessage.parse(value),
      messageId: MessageId.parse(key.slice(REPLACED_PREFIX.length)),
    }));
  };
  return { session, store, stageId, files, queue, replacedMessages };
}

it('keeps a replaced message with its files until it is sent', async () => {
  const { session, files, queue, replacedMessages, stageId } = await setUp();
  await queue.send(
    stageId,
    { message: 'Look at this', attachments: [note('one'), note('two')], isCommand: true },
    'Bo',
  );
  const replaced = await queue.send(stageId, { message: 'No, at that', mode: 'replace' }, 'Bo');
  expect(replaced).toMatchObject({ replaced: ['Look at this'] });
  const [saved] = await replacedMessages();
  expect(saved).toMatchObject({ text: 'Look at this', files: [{ name: 'one.txt' }, { name: 'two.txt' }] });
  expect(session.events('draft-updated').at(-1)).toMatchObject({
    value: { isCommand: true, files: [{ size: 3 }, {}] },
  });
  const [one, two] = (saved?.files ?? []).map(({ fileId }) => fileId);
  expect(await files.get(stageId, one ?? '')).toEqual(note('one'));

  const again = {
    message: 'Look at this',
    files: [one ?? '', two ?? ''],
    ...(saved && { messageId: saved.messageId }),
  };
  expect(await queue.send(stageId, again, 'Bo')).toMatchObject({ status: 'queued' });
  await queue.send(stageId, again, 'Bo'); // as if the reply had been lost
  expect(await session.queue()).toMatchObject([
    { text: 'No, at that' },
    { text: 'Look at this', attachments: [{ name: 'one.txt' }, { name: 'two.txt' }] },
  ]);
  expect(await replacedMessages()).toEqual([]);
  expect(session.events('draft-updated').at(-1)).toMatchObject({ key: `replaced:${saved?.messageId}`, value: null });
});

it('drops deleted files from a replaced message', async () => {
  const { files, queue, replacedMessages, stageId } = await setUp();
  await queue.send(stageId, { message: 'one', attachments: [note('one')] }, 'Bo');
  await queue.send(stageId, { message: 'two', mode: 'replace' }, 'Bo');
  await files.forgetOlder('2100-01-01T00:00:00.000Z');
  expect(await replacedMessages()).toMatchObject([{ text: 'one', files: [] }]);
});

it('keeps a message of the maximum length', async () => {
  const { queue, replacedMessages, stageId } = await setUp();
  const text = '\u0001'.repeat(200_000);
  await queue.send(stageId, { message: text }, 'Bo');
  await queue.send(stageId, { message: 'two', mode: 'replace' }, 'Bo');
  expect((await replacedMessages())[0]?.text).toBe(text);
});
