import { Phase, StageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { beginTestSession, busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { beginLaunch } from './begin-launch.ts';

const DONE = '2026-01-02T03:04:05.678Z';

async function setUp() {
  const test = await openTestStore();
  const { store, platform } = test;
  const start = (stageId: StageId) =>
    store.transact((tx) => beginLaunch(tx, { platform, dataDir: '/data' }, { stageId, actor: 'Ada' }));
  return { ...test, start };
}

it('refuses to start a stage whose dependencies are not done, and names them', async () => {
  const { addStage, start, store } = await setUp();
  const done = await addStage({ title: 'Cart', completedAt: DONE });
  const open = await addStage({ title: 'Checkout' });
  const stageId = await addStage({ dependsOn: [done, open] });
  await expect(start(stageId)).rejects.toMatchObject({
    code: 'waits_for_dependency',
    message: `${stageId} waits for ${open} (Checkout), not done yet. Complete that one first, or remove it from "Depends on".`,
  });
  expect(await store.read.sessions.find(stageId)).toBeNull();
});

it('counts a missing dependency as not done, and names at most three', async () => {
  const { addStage, start } = await setUp();
  const gone = ['G1', 'G2', 'G3', 'G4', 'G5'].map((id) => StageId.parse(id));
  const stageId = await addStage({ dependsOn: gone });
  await expect(start(stageId)).rejects.toMatchObject({
    code: 'waits_for_dependency',
    message: expect.stringContaining(
      'G1 (which does not exist), G2 (which does not exist), G3 (which does not exist), and 2 more',
    ),
  });
});

it('starts a held stage, and a stage whose dependencies are done', async () => {
  const { addStage, start } = await setUp();
  const done = await addStage({ completedAt: DONE });
  const held = await addStage({ held: true, dependsOn: [done] });
  await expect(start(held)).resolves.toMatchObject({ permissionMode: 'default' });
});

it('starts a stage that has run before, whatever it depends on by now', async () => {
  const session = await busyTestSession();
  const { store, stageId } = session;
  await session.end();
  await store.transact(async (tx) => {
    const stage = await tx.stages.find(stageId);
    if (stage !== null) await tx.stages.update({ ...stage, dependsOn: [StageId.parse('G1')] });
  });
  await session.begin();
  expect(await session.record()).toMatchObject({ state: 'starting' });
});

it('says that a stage waits at its gate, and what to do with one that is done', async () => {
  const phase = (name: string) => Phase.parse({ name, prompt: 'Do it', gate: 'human' });
  const atGate = await busyTestSession({ pipeline: [phase('Design'), phase('Build')] });
  await atGate.emit(turnEnded());
  await expect(atGate.begin()).rejects.toMatchObject({
    code: 'already_running',
    message: expect.stringContaining(
      'its next phase waits for you: "Design" is finished, and "Build" begins when you start it. Start that phase',
    ),
  });
  const running = await beginTestSession();
  await expect(running.begin()).rejects.toMatchObject({ message: `${running.stageId} is already running (starting).` });

  const { addStage, start } = await setUp();
  const done = await addStage({ completedAt: DONE });
  await expect(start(done)).rejects.toMatchObject({
    code: 'already_done',
    message: `${done} is done. Reopen it, or send it a message.`,
  });
});
