import { readFile, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { launchFiles } from '../../src/core/claude/claude-process.ts';
import { probeFileSystem } from '../../src/doctor/inspect.ts';
import { conversationFile, untilWritten } from '../support/conversation.ts';
import { untilConfirmed } from '../support/kit.ts';
import { asSynced, firstTurn, type Machine, type SpoolLeft, upTo, whole } from '../support/power-cut.ts';
import { bash, createMachineAndKit, notices, notifyCount, queue, resume, texts } from '../support/power-cut-scene.ts';

/** Whether the outbox has a delivered row of this kind that contains the text. */
const isGiven = (store: DatabaseSync, kind: string, text: string): boolean =>
  store
    .prepare('select 1 from outbox where kind = ? and instr(body, ?) > 0 and launch_id is not null')
    .get(kind, text) !== undefined;

it.each([true, false])(
  'tells Claude once about a message whose mark and spool were lost; Claude had kept it: %s',
  async (isSaved) => {
    const { machine, kit } = await createMachineAndKit();
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.' }] }));
    await kit.client.state(stageId, 'idle');
    const before = (await readFile(await conversationFile(kit, stageId))).length;
    void machine.loseAllAfter((store) => isGiven(store, 'message', '<two>'));
    await kit.client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Second.' }] }, '<two>') });
    await untilWritten(kit, stageId, 'Second.');
    const file = await conversationFile(kit, stageId);
    // The store knows that the message was delivered; the mark that Claude wrote it down was not on disk yet.
    await machine.cutPower(kit, firstTurn, async () => {
      if (!isSaved) await truncate(file, before);
    });
    expect((await kit.client.transcript(stageId)).filter(({ kind }) => kind === 'user')).toHaveLength(2);
    expect(await queue(kit, stageId)).toEqual(isSaved ? [] : [expect.stringContaining('<two>')]);
    await resume(kit, stageId);
    if (!isSaved) {
      await kit.client.command('release_queue', { stageId });
      await expect.poll(() => texts(kit, stageId)).toContain('Second.');
    }
    expect(notifyCount(kit, '<two>')).toBe(1);
    expect((await kit.client.command('get_session', { stageId })).session.alarm).toBeNull();
  },
);

it.each<[string, string, SpoolLeft]>([
  ['delivery is unknown if the spool ends before Claude took the answer', 'unknown', upTo('"subtype":"can_use_tool"')],
  ['delivery is unknown if the spool is gone', 'unknown', asSynced],
  ['the spool shows that Claude took the answer', 'confirmed', whole],
])('keeps an answer whose mark was lost, and asks nobody again: %s', async (_, delivery, left) => {
  const { machine, kit } = await createMachineAndKit();
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [bash] }, { text: 'After.', gate: 'go' }] }));
  const { requestId, toolUseId } = await kit.client.event('approval-requested');
  await untilWritten(kit, stageId, toolUseId ?? '');
  void machine.loseAllAfter((store) => isGiven(store, 'answer', ''));
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await untilConfirmed(kit, requestId);
  await machine.cutPower(kit, left);
  const { pending, unsettled } = await kit.client.command('get_board');
  expect(pending).toEqual([]);
  expect(unsettled).toMatchObject(delivery === 'unknown' ? [{ requestId }] : []);
  expect((await kit.client.command('get_decisions', {})).decisions).toMatchObject([
    { requestId, outcome: 'allowed', by: 'Ada', delivery, settlement: null },
  ]);
  expect((await kit.client.command('get_session', { stageId })).session.alarm).toBeNull();
  if (delivery !== 'unknown') return;
  const { decision } = await kit.client.command('retry_decision', { stageId, requestId });
  expect(decision.settlement).toMatchObject({ how: 'retried', by: 'Ada' });
  expect((await kit.client.command('get_board')).unsettled).toEqual([]);
});

const launched = 'select process from launches';
it.each<[string, boolean, (store: DatabaseSync) => boolean]>([
  ['before the start began', true, (store) => store.prepare('select id from stages').get() !== undefined],
  ['before its process was stored', true, (store) => store.prepare(launched).get() !== undefined],
  ['once its process was stored', false, (store) => store.prepare(launched).get()?.process != null],
])('starts once a stage due to start automatically that met a power cut %s', async (_, startsAgain, isLast) => {
  const { machine, kit } = await createMachineAndKit();
  void machine.loseAllAfter(isLast);
  const text = prompt({ steps: [{ text: 'Done.' }] }, '<begin>');
  const fields = { projectId: 'shop', title: 'By itself', autoStart: true, prompt: text };
  const stageId = (await kit.client.command('create_stage', fields)).stage.id;
  await kit.client.state(stageId, 'idle');
  const file = await conversationFile(kit, stageId);
  await machine.cutPower(kit, asSynced, () => rm(file));
  if (!startsAgain) {
    await kit.client.state(stageId, 'failed'); // at the start the dying process may still be visible
    const { stage } = await kit.client.command('get_stage', { stageId });
    expect(stage).toMatchObject({ column: 'needs-you', session: { state: 'failed' } });
    await kit.client.command('start_stage', { stageId });
  }
  await kit.client.state(stageId, 'idle');
  expect(await texts(kit, stageId)).toEqual(['Done.']);
  expect((await kit.client.transcript(stageId)).filter(({ kind }) => kind === 'user')).toHaveLength(1);
  expect(await queue(kit, stageId)).toEqual([]);
  expect(notifyCount(kit, '<begin>')).toBe(1);
});

it('does not reread a session that was stopped before the power cut', async () => {
  const { machine, kit } = await createMachineAndKit();
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.', tools: [bash] }] }));
  const { requestId } = await kit.client.event('approval-requested');
  await kit.client.command('stop_stage', { stageId });
  const before = await kit.client.transcript(stageId);
  await machine.cutPower(kit, asSynced); // the spool was removed with its session
  expect(await kit.client.transcript(stageId)).toEqual(before);
  const { stage } = await kit.client.command('get_stage', { stageId });
  expect(stage.session).toMatchObject({
    state: 'ended',
    lastTurn: { message: expect.not.stringContaining('machine') },
  });
  const { decisions } = await kit.client.command('get_decisions', {});
  expect(decisions).toMatchObject([{ requestId, outcome: 'closed' }]);
});

it('syncs Claude’s output to the disk automatically', async () => {
  const { machine, kit } = await createMachineAndKit({ syncMs: 10 });
  const said = `select 1 from transcript where document like '%"First."%'`;
  const onDisk = machine.loseAllAfter((store) => store.prepare(said).get() !== undefined);
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.' }] }));
  await onDisk;
  await machine.cutPower(kit, asSynced);
  expect(await texts(kit, stageId)).toEqual(['First.']);
});

it('merges nothing until all facts about the work are on disk', async () => {
  let isBroken = false;
  const { kit } = await createMachineAndKit({
    wrap: ({ platform }) => ({
      ...platform,
      syncFile: async (path) => {
        if (isBroken) throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
        await platform.syncFile(path);
      },
    }),
  });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Nothing yet.' }] }));
  await kit.client.state(stageId, 'idle');
  const path = (await kit.client.command('get_stage', { stageId })).stage.worktree?.path ?? '';
  await git(path, 'commit', '--quiet', '--allow-empty', '-m', 'Work');
  const [before, work] = [await git(kit.repo, 'rev-parse', 'HEAD'), await git(path, 'rev-parse', 'HEAD')];
  isBroken = true;
  const complete = () => kit.client.command('complete_stage', { stageId, merge: true });
  await expect(complete()).rejects.toMatchObject({ code: 'storage_failed' });
  expect(await git(kit.repo, 'rev-parse', 'HEAD')).toBe(before);
  isBroken = false;
  expect((await complete()).stage.column).toBe('done');
  expect(await git(kit.repo, 'rev-parse', 'HEAD^2')).toBe(work);
});

const canPunch = (await probeFileSystem(tmpdir())).holes === null;

it.runIf(canPunch)(
  'reclaims only the part of a spool that the disk has as ingested: nothing is missing after a power cut',
  async () => {
    let spool = '';
    const punchedBeforeSync: boolean[] = [];
    const isPunched = async () => {
      const { size, blocks } = await stat(spool);
      return size - blocks * 512 > 1_000_000;
    };
    const watched = ({ platform }: Machine) => ({
      ...platform,
      syncFile: async (path: string) => {
        if (spool !== '') punchedBeforeSync.push(await isPunched());
        await platform.syncFile(path);
      },
    });
    const { machine, kit } = await createMachineAndKit({ wrap: watched, isEmulated: true });
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.' }] }));
    await kit.client.state(stageId, 'idle');
    const { session } = await kit.client.command('get_session', { stageId });
    spool = launchFiles(join(kit.dataDir, 'sessions', stageId, session.launchId ?? '')).spool;
    const flood = { name: 'Flood', input: { texts: 50, chars: 100_000, deltaChars: 100_000, resultChars: 1 } };
    await kit.client.command('send_message', { stageId, message: prompt({ steps: [{ tools: [flood] }] }) });
    await expect.poll(isPunched).toBe(true);
    expect(punchedBeforeSync[0]).toBe(false);
    await kit.client.state(stageId, 'idle');
    const said = await texts(kit, stageId);
    expect(said.length).toBeGreaterThan(50);
    await machine.cutPower(kit, whole);
    expect(await texts(kit, stageId)).toEqual(said);
    expect(await notices(kit, stageId)).not.toContainEqual(expect.stringMatching(/^output-lost/));
    expect((await kit.client.command('get_session', { stageId })).session.alarm).toBeNull();
  },
);
