import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RequestId, StageId } from '@callboard/contract';
import { prompt, type Script } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { createDenialRetries } from '../../src/features/rules/denial-retries.ts';
import { createRules, type Rules } from '../../src/features/rules/rules.ts';
import { dataDirLayout } from '../../src/platform/data-dir.ts';
import { nodePlatform } from '../../src/platform/runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { silent } from '../support/test-store.ts';

const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });
const say = (...steps: Script['steps']) => prompt({ steps: [...steps, { text: 'Done.' }] });

const asked = ({ client }: Kit) =>
  client.events.flatMap((event) => (event.type === 'approval-requested' ? [event.data.requestId] : []));

/** Allows the request that comes after the `count` ones before it. */
async function allowNext(kit: Kit, stageId: string, count: number) {
  const before = new Set(asked(kit).slice(0, count));
  const { requestId } = await kit.client.event('approval-requested', (request) => !before.has(request.requestId));
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  return requestId;
}

/** Waits until this many turns have ended. */
const turns = ({ client }: Kit, stageId: string, count: number) =>
  expect
    .poll(async () => (await client.transcript(stageId)).filter(({ kind }) => kind === 'turn-end').length, {
      timeout: 30_000,
    })
    .toBe(count);

it('offers the exact rule after the third same answer; it holds at once in the running session, until it is removed or ends', async () => {
  const kit = await createKit();
  const { client, startStage } = kit;
  const touch = bash('touch a');
  const stageId = await startStage(say(touch, touch, touch));
  const offerFor = async (requestId: string) => (await client.command('get_rule_offer', { stageId, requestId })).offer;
  await allowNext(kit, stageId, 0);
  expect(await offerFor(await allowNext(kit, stageId, 1))).toBeNull();
  const offer = await offerFor(await allowNext(kit, stageId, 2));
  expect(offer).toEqual({ projectId: 'shop', stageId, rules: ['Bash(touch a)'], times: 3 });
  await turns(kit, stageId, 1);

  const wanted = { rule: 'Bash(touch a)', scope: { projectId: 'shop' } };
  const dryRun = await client.command('rehearse_rule', wanted);
  expect(dryRun).toMatchObject({ waits: 3, answered: 3, unsure: 0, denied: 0 });
  expect(dryRun.waitedMs).toBeGreaterThan(0);

  const { rule } = await client.command('add_rule', wanted);
  await client.command('send_message', { stageId, message: say(touch, bash('ls && touch a 2>&1')) });
  await turns(kit, stageId, 2);
  expect(asked(kit)).toHaveLength(3);
  const listed = await client.command('list_rules');
  expect(listed.rules).toMatchObject([
    { uses: 2, usedFor: [{ asked: 'Bash ls && touch a 2>&1' }, { asked: 'Bash touch a' }] },
  ]);

  await client.command('remove_rule', { ruleId: rule.ruleId });
  await client.command('send_message', { stageId, message: say(touch) });
  await allowNext(kit, stageId, 3);
  await turns(kit, stageId, 3);

  const expiresAt = new Date(Date.now() + 1_500).toISOString();
  await client.command('add_rule', { ...wanted, expiresAt });
  const isGone = (rules: readonly unknown[]) => rules.length === 0;
  const seen = client.events.length;
  await expect
    .poll(() => client.events.slice(seen).some((event) => event.type === 'rules-updated' && isGone(event.data.rules)))
    .toBe(true);
  await expect
    .poll(async () => (await client.command('list_rules')).ended.map((one) => one.endedBy))
    .toEqual([null, 'Ada']);
  await client.command('send_message', { stageId, message: say(touch) });
  await allowNext(kit, stageId, 4);
  await turns(kit, stageId, 4);
});

/** The store of an orchestrator that was killed. */
const openKilled = ({ dataDir }: Kit) => openSqliteStore(dataDirLayout(dataDir).database, nodePlatform, silent);

const write = (path: string) => ({ tools: [{ name: 'Write', input: { file_path: path, content: 'x' } }] });

/** Ends the orchestrator by SIGKILL, changes the rules as it would have done just before, and starts it again: no session was told. */
async function changeKilled(kit: Kit, change: (rules: Rules) => Promise<unknown>): Promise<void> {
  await kit.kill();
  const store = await openKilled(kit);
  await change(createRules({ store, platform: nodePlatform, settle: () => Promise.resolve() }));
  await store.close();
  await kit.start('apart');
}

it('gives and revokes rules in a running session, although the orchestrator is killed before it tells it', async () => {
  const kit = await createKit({ isInFile: true, where: 'apart' });
  const stageId = await kit.startStage(say({ text: 'Hello.' }));
  await turns(kit, stageId, 1);
  const { stage } = await kit.client.command('get_stage', { stageId });
  const folder = stage.worktree?.path ?? '';
  const scope = { projectId: kit.projectId };
  const launches = async () => (await kit.client.command('get_session', { stageId })).session.launchId;
  const launch = await launches();

  // What a rehearsal counts is what Claude Code lets through below.
  const files = [write(`${folder}/src/deep/b.ts`), write(`${folder}/docs/Notes.md`)];
  await kit.client.command('send_message', { stageId, message: say(...files) });
  for (const count of files.keys()) await allowNext(kit, stageId, count);
  await turns(kit, stageId, 2);
  const wanted = ['Bash(touch a)', 'Edit(src/**)', 'Edit(notes.md)'];
  const dryRunResult = wanted.map((rule) => kit.client.command('rehearse_rule', { rule, scope }));
  expect((await Promise.all(dryRunResult)).map(({ answered, unsure }) => [answered, unsure])).toEqual([
    ...[
      [0, 0],
      [1, 0],
      [1, 0],
    ],
  ]);

  const granted: string[] = [];
  await changeKilled(kit, async (rules) => {
    for (const rule of wanted) granted.push((await rules.add({ rule, scope }, 'Ada')).ruleId);
  });
  const covered = [bash('touch a'), ...files];
  await kit.client.command('send_message', { stageId, message: say(...covered) });
  await turns(kit, stageId, 3);
  expect(asked(kit)).toEqual([]);
  const { rules: used } = await kit.client.command('list_rules');
  expect(Object.fromEntries(used.map(({ rule, uses }) => [rule, uses]))).toEqual(
    Object.fromEntries(wanted.map((rule) => [rule, 1])),
  );

  await changeKilled(kit, async (rules) => {
    for (const ruleId of granted) await rules.remove(ruleId, 'Ada');
  });
  await kit.client.command('send_message', { stageId, message: say(...covered) });
  for (const count of covered.keys()) await allowNext(kit, stageId, count);
  await turns(kit, stageId, 4);
  expect(await launches()).toBe(launch);
});

it('has Claude make a call again that was allowed just before a SIGKILL, once', async () => {
  const kit = await createKit({ isInFile: true, where: 'apart' });
  const stageId = await kit.startStage(say({ text: 'Hello.' }), { permissionMode: 'dontAsk' });
  await turns(kit, stageId, 1);
  await kit.client.command('send_message', { stageId, message: say(bash('touch a')) });
  const { requestId } = await kit.client.event('call-denied');
  await turns(kit, stageId, 2);
  await kit.kill();
  const store = await openKilled(kit);
  const killed = () => Promise.reject(new Error('killed'));
  const deps = {
    store,
    platform: nodePlatform,
    log: silent,
    settle: killed,
    requireResumable: () => Promise.resolve(),
    sendText: killed,
  };
  const id = RequestId.parse(requestId);
  await expect(createDenialRetries(deps).retry(StageId.parse(stageId), id, 'Ada')).rejects.toThrow('killed');
  await store.close();
  await kit.start('apart');
  await turns(kit, stageId, 3);
  const reported = (await kit.client.transcript(stageId)).filter((entry) => entry.kind === 'user');
  expect(reported.map(({ by }) => by)).toEqual(['Ada', 'Ada', 'Ada']);
  expect(reported.at(-1)?.text).toContain('The user has now allowed exactly this call');
  const { decisions } = await kit.client.command('get_decisions', { stageId });
  expect(decisions.at(-1)).toMatchObject({ requestId, settlement: { how: 'retried', by: 'Ada' } });
});

itAll('allows what the mode denied, exactly and for an hour, and has Claude try it again', async () => {
  const kit = await createKit();
  const { client, startStage } = kit;
  const stageId = await startStage(say({ text: 'Hello.' }), { permissionMode: 'dontAsk' });
  await turns(kit, stageId, 1);
  const { stage } = await client.command('get_stage', { stageId });
  const file = join(stage.worktree?.path ?? '', 'für den Test.txt');
  // The message about the call repeats its input, and with it what the scripted model does then.
  const write = (content: string) => ({ tools: [{ name: 'Write', input: { file_path: file, content } }] });
  await client.command('send_message', { stageId, message: say(write(say(write('It ran.')))) });
  const { requestId } = await client.event('call-denied');
  await turns(kit, stageId, 2);
  expect((await client.command('get_session', { stageId })).session.openDenial).toMatchObject({ requestId });
  const { retry } = await client.command('get_denial_retry', { stageId, requestId });
  expect(retry).toEqual({ rules: [`Edit(/${file})`], whyNot: null });
  await client.command('retry_denial', { stageId, requestId });
  await turns(kit, stageId, 3);
  expect(await readFile(file, 'utf8')).toBe('It ran.');
  await expect(client.command('retry_denial', { stageId, requestId })).rejects.toMatchObject({
    code: 'already_settled',
  });
});
