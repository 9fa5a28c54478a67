import { randomUUID } from 'node:crypto';
import { Stage } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { newBrowser } from '../../../test/support/new-browser.ts';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { NO_REPOSITORY, openTestStore, silent } from '../../../test/support/test-store.ts';
import { createLogins } from '../../core/commands/logins.ts';
import { createDraftFiles } from '../messages/drafts.ts';
import { settleCompleted } from '../notifications/notifications.ts';
import { createTrash } from '../trash/trash.ts';
import { startPruning } from './storage.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

async function setUp() {
  const clocks = setClocks();
  const { platform, timer } = clocks;
  const { store, addStage } = await openTestStore(platform);
  const stageId = await addStage();
  const files = createDraftFiles({ store });
  const trash = createTrash({
    store,
    platform,
    log: silent,
    here: null,
    worktrees: NO_REPOSITORY,
    dataDir: await temporaryFolder(),
  });
  const logins = await createLogins({ store, platform, ownerName: 'Ada', tokenSha256: null, publicUrl: null });
  const addFile = (name: string) =>
    files.add(stageId, randomUUID(), {
      name,
      mediaType: 'text/plain',
      dataBase64: Buffer.from(name).toString('base64'),
    });
  let running: ReturnType<typeof startPruning> | undefined;
  const start = () => {
    const forget = { forgetDraftFiles: files.forgetOlder, forgetTrash: trash.forgetOlder, settleCompleted };
    const pruning = startPruning({ store, platform, log: silent, timer, ...forget });
    onTestFinished(pruning.stop);
    running = pruning;
    return pruning;
  };
  /** What the store keeps after all pending work is done. */
  const kept = async () => {
    await running?.drain();
    const drafts = await store.read.drafts.listOf(stageId);
    const [listed] = drafts.map(({ value }) => (Array.isArray(value) ? value.map(({ name }) => name) : value));
    return { events: (await store.read.events.since(0, 100)).length, files: listed ?? [] };
  };
  return { ...clocks, store, stageId, logins, addFile, start, kept };
}

it.each([YEAR, -YEAR])(
  'loses nothing to a time of day that jumps by %i ms and back, also over restarts and what is made meanwhile',
  async (jumpMs) => {
    const { jump, pass, logins, addFile, start, kept } = await setUp();
    const first = start();
    const { secret } = await logins.redeem({ code: await logins.createCode(), ...newBrowser() });
    await addFile('before.txt');
    await pass(2 * HOUR);
    jump(jumpMs);
    await pass(2 * HOUR);
    await first.stop();
    const second = start();
    await logins.createCode(); // each start creates a code and forgets expired ones
    await addFile('meanwhile.txt');
    await pass(2 * HOUR);
    jump(-jumpMs);
    await second.stop();
    start();
    await logins.createCode();
    await pass(2 * HOUR);
    expect(await kept()).toEqual({ events: 3, files: ['before.txt', 'meanwhile.txt'] });
    expect(logins.check({ kind: 'page', secret })).toMatchObject({ actor: { name: 'Ada' } });
  },
);

it('prunes by the time that really passed', async () => {
  const { pass, addFile, start, kept } = await setUp();
  start();
  await addFile('old.txt');
  for (let day = 0; day < 15; day++) await pass(DAY);
  await addFile('new.txt');
  await pass(2 * HOUR);
  expect(await kept()).toEqual({ events: 1, files: ['old.txt', 'new.txt'] });
  for (let day = 0; day < 16; day++) await pass(DAY);
  expect((await kept()).files).toEqual(['new.txt']);
});

it('settles what was told of a completed stage after a day, and never what a person has yet to look at', async () => {
  const { platform, pass, store, stageId, start } = await setUp();
  const since = platform.now().toISOString();
  const finished = { signal: 'finished', stageId, requestId: null, since, madeAt: since, settledAt: null } as const;
  await store.transact((tx) => tx.announcements.insert({ ...finished, key: 'finished 1' }));
  const open = async () => {
    await running.drain();
    return (await store.read.announcements.listOpen()).map(({ key }) => key);
  };
  const running = start();
  await pass(25 * HOUR);
  expect(await open()).toEqual(['finished 1']);
  await store.transact(async (tx) => {
    await tx.stages.update(Stage.parse({ ...(await tx.stages.find(stageId)), completedAt: tx.now }));
    await tx.announcements.insert({ ...finished, key: 'finished 2', madeAt: tx.now });
  });
  await pass(2 * HOUR);
  expect(await open()).toEqual(['finished 2']);
});
