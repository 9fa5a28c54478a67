import type { BoardEvent } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { untilWritten } from '../support/conversation.ts';
import { type Kit, untilConfirmed } from '../support/kit.ts';
import { asSynced, firstTurn, whole } from '../support/power-cut.ts';
import { bash, createMachineAndKit, notices, notifyCount, queue, resume, texts } from '../support/power-cut-scene.ts';

/** No two events share a number, and a client with an old number reloads the board. */
async function expectNewEpoch({ client }: Kit, heard: readonly BoardEvent[]): Promise<void> {
  const { seq } = client.init.data;
  const last = heard.at(-1)?.seq ?? 0;
  expect(Math.min(seq, ...client.events.map((event) => event.seq))).toBeGreaterThan(last);
  for (const since of [0, 1, last - 1, last, last + 1])
    expect(await client.command('get_events', { since })).toEqual({ events: [], resync: true });
  expect((await client.command('get_events', { since: seq })).resync).toBe(false);
}

it('syncs one commit for a message and one for an answer, and none for Claude’s output', async () => {
  const { machine, kit } = await createMachineAndKit();
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Ready.' }] }));
  await kit.client.state(stageId, 'idle');
  await kit.client.event('session-updated', ({ contextUsage }) => contextUsage !== null);
  const before = machine.syncedCommits();
  const asks = prompt({ steps: [{ text: 'Before.', tools: [bash] }, { text: 'After.' }] });
  await kit.client.command('send_message', { stageId, message: asks });
  const { requestId } = await kit.client.event('approval-requested');
  expect(machine.syncedCommits() - before).toBe(1);
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await untilConfirmed(kit, requestId);
  await expect.poll(() => texts(kit, stageId)).toContain('After.');
  await kit.client.state(stageId, 'idle');
  expect(machine.syncedCommits() - before).toBe(2);
});

it('survives a power cut without losing a person’s input or deciding anything twice, and reports what may be missing', async () => {
  const { machine, kit } = await createMachineAndKit();
  const stageId = await kit.startStage(
    prompt({
      steps: [
        { text: 'Before.', tools: [bash] },
        { text: 'After.', gate: 'go' },
      ],
    }),
  );
  const { requestId } = await kit.client.event('approval-requested');
  const next = prompt({ steps: [{ text: 'Next.' }] }, '<next>');
  await kit.client.command('send_message', { stageId, message: next });
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await kit.model.waitForRequest(({ step }) => step === 1); // the tool has run
  const heard = kit.client.events;
  await machine.cutPower(kit, asSynced);

  const { stage } = await kit.client.command('get_stage', { stageId });
  const message = 'The machine was restarted while Claude Code was running.';
  expect(stage).toMatchObject({
    column: 'needs-you',
    session: { state: 'ended', alarm: null, lastTurn: { outcome: 'interrupted', message } },
  });
  expect(await texts(kit, stageId)).toEqual(['Before.']);
  expect(await notices(kit, stageId)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^output-lost: The machine lost power or was reset.* Look at the changes/),
    ]),
  );
  expect(await notices(kit, stageId)).not.toContainEqual(expect.stringContaining('truncated its output file'));
  expect(await queue(kit, stageId)).toEqual([next]);
  await expect(kit.client.command('approve_tool', { stageId, requestId, decision: 'deny' })).rejects.toMatchObject({
    code: 'already_decided',
  });
  const { decisions } = await kit.client.command('get_decisions', {});
  expect(decisions).toMatchObject([{ requestId, outcome: 'allowed', by: 'Ada' }]);
  await expectNewEpoch(kit, heard);

  await resume(kit, stageId);
  await kit.client.command('release_queue', { stageId });
  await expect.poll(() => texts(kit, stageId)).toContain('Next.');
  expect(notifyCount(kit, '<next>')).toBe(1);
});

/** Runs two turns, the second one's message from the queue; the store knows of neither turn's end when the power is cut. */
async function runTwoTurns(kit: Kit): Promise<string> {
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.', gate: 'go' }] }));
  await kit.model.waitForRequest(({ kind }) => kind === 'script');
  await kit.client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Second.' }] }, '<two>') });
  kit.model.release('go');
  await expect.poll(() => texts(kit, stageId)).toEqual(['First.', 'Second.']);
  await kit.client.event('session-updated', ({ contextUsage }) => contextUsage !== null);
  await kit.client.state(stageId, 'idle');
  await untilWritten(kit, stageId, 'Second.');
  return stageId;
}

it('ingests again lines that the store lost and the spool has, without duplicates or an alarm', async () => {
  const { machine, kit } = await createMachineAndKit();
  const stageId = await runTwoTurns(kit);
  const heard = kit.client.events;
  await machine.cutPower(kit, whole);
  expect(await texts(kit, stageId)).toEqual(['First.', 'Second.']);
  expect(await queue(kit, stageId)).toEqual([]);
  expect((await kit.client.command('get_session', { stageId })).session).toMatchObject({ state: 'ended', alarm: null });
  expect(await notices(kit, stageId)).not.toContainEqual(expect.stringMatching(/^output-lost/));
  await expectNewEpoch(kit, heard);
  await resume(kit, stageId);
  expect(notifyCount(kit, '<two>')).toBe(1);
});

it('does not repeat to Claude a message whose delivery record was lost in a power cut', async () => {
  const { machine, kit } = await createMachineAndKit();
  const stageId = await runTwoTurns(kit);
  await machine.cutPower(kit, firstTurn);
  expect((await texts(kit, stageId))[0]).toBe('First.');
  expect(await queue(kit, stageId)).toEqual([]);
  await resume(kit, stageId);
  expect(notifyCount(kit, '<two>')).toBe(1);
  expect((await kit.client.command('get_session', { stageId })).session.alarm).toBeNull();
});

it('does not repeat to Claude a phase that began right before a power cut', async () => {
  const { machine, kit } = await createMachineAndKit();
  const phases = [
    { name: 'Plan', prompt: prompt({ steps: [{ text: 'Planned.' }] }, '<plan>') },
    { name: 'Build', prompt: prompt({ steps: [{ text: 'Built.', tools: [bash] }] }, '<build>') },
  ];
  const stageId = await kit.startStage('Do it.', { pipeline: phases });
  const { toolUseId } = await kit.client.event('approval-requested');
  await untilWritten(kit, stageId, toolUseId ?? '');
  await machine.cutPower(kit, firstTurn);
  await resume(kit, stageId);
  expect([notifyCount(kit, '<plan>'), notifyCount(kit, '<build>')]).toEqual([1, 1]);
  expect(await queue(kit, stageId)).toEqual([]);
});

it('keeps a person’s settings for a running session once they are confirmed', async () => {
  const { machine, kit } = await createMachineAndKit();
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Ready.', tools: [bash] }] }));
  const { requestId } = await kit.client.event('approval-requested');
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await untilConfirmed(kit, requestId);
  await kit.client.command('set_mode', { stageId, mode: 'plan' });
  await machine.cutPower(kit, asSynced);
  expect((await kit.client.command('get_session', { stageId })).session.mode).toBe('plan');
});
