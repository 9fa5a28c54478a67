import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { identify, isAlive, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { prompt } from '@callboard/scripted-model';
import { afterEach, expect, it } from 'vitest';
import { variants } from '../../../../test-support/variants.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { killProcess } from '../support/living-process.ts';

const started: ProcessIdentity[] = [];
afterEach(async () => {
  for (const process of started.splice(0)) if (await isAlive(process)) await killProcess(process);
});

/** Creates a session whose single command was allowed and has ended. */
async function afterCommand(command: string): Promise<{ kit: Kit; stageId: string }> {
  const kit = await createKit({ where: 'apart' });
  const steps = [{ tools: [{ name: 'Bash', input: { command } }] }, { text: 'Done.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  const { requestId } = await kit.client.event('approval-requested', (request) => request.stageId === stageId);
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await kit.client.state(stageId, 'idle');
  return { kit, stageId };
}

/** Resolves with the left processes once they are reported. */
async function leftBy({ client }: Kit, stageId: string, count: number): Promise<ProcessIdentity[]> {
  await client.event('session-updated', (session) => session.stageId === stageId && session.leftovers > 0);
  const { processes } = await client.command('get_leftovers', { stageId });
  const found = await Promise.all(processes.map(({ pid }) => identify(pid)));
  const living = found.filter((one) => one !== null);
  started.push(...living);
  expect(living).toHaveLength(count);
  return living;
}

const QUIET = '>/dev/null 2>&1 </dev/null';
/** Processes without the marker: one that prints, one in a session with the marker, one in its own session that prints. */
const HIDES = [
  `env -u CB_LAUNCH sh -c 'sleep 300 & sleep 301 ${QUIET} &'`,
  `env -i sh -c 'sleep 302 ${QUIET} &'`,
  `env -i setsid sleep 303 &`,
].join('\n');

it('lists processes without the marker that outlive a stop, and ends only those that a person names', async () => {
  const { kit, stageId } = await afterCommand(HIDES);
  expect(await kit.client.command('get_leftovers', { stageId })).toEqual({ processes: [] });
  await kit.client.command('stop_stage', { stageId });
  const left = await leftBy(kit, stageId, 4);
  const { processes } = await kit.client.command('get_leftovers', { stageId });
  expect(processes.map(({ command }) => command).toSorted()).toEqual([300, 301, 302, 303].map((s) => `sleep ${s}`));
  const age = Date.now() - Date.parse(processes[0]?.startedAt ?? '');
  expect(age).toBeGreaterThan(-2_000);
  expect(age).toBeLessThan(120_000);
  const reported = (await kit.client.transcript(stageId)).filter(({ kind }) => kind === 'notice');
  expect(reported).toContainEqual(expect.objectContaining({ code: 'leftovers' }));

  await kit.kill();
  await kit.start('here');
  const { client } = kit;
  expect((await client.command('get_leftovers', { stageId })).processes).toHaveLength(4);
  expect(await Promise.all(left.map(isAlive))).toEqual([true, true, true, true]);

  const pids = left.map(({ pid }) => pid);
  const unattributed = spawn('sleep', ['304']);
  await once(unattributed, 'spawn');
  const other = await identify(unattributed.pid ?? 0);
  if (other === null) throw new Error('the stranger has ended');
  started.push(other);
  const refused = client.command('end_leftovers', { stageId, pids: [...pids, other.pid] });
  await expect(refused).rejects.toMatchObject({ code: 'unknown_process' });
  expect(await Promise.all([...left, other].map(isAlive))).toEqual([true, true, true, true, true]);

  expect(await client.command('end_leftovers', { stageId, pids })).toEqual({ processes: [] });
  expect(await Promise.all([...left, other].map(isAlive))).toEqual([false, false, false, false, true]);
  expect(await client.command('get_session', { stageId })).toMatchObject({ session: { leftovers: 0 } });
  const ended = expect.stringMatching(/ ended 4 processes that outlived the session/);
  expect(await client.transcript(stageId)).toContainEqual(expect.objectContaining({ text: ended }));
  const again = client.command('end_leftovers', { stageId, pids });
  await expect(again).rejects.toMatchObject({ code: 'unknown_process' });
});

const hidden = [
  ['prints nothing and works elsewhere', `(cd / && env -i sleep 305 ${QUIET} &); sleep 1`],
  ['prints nothing', `env -i sleep 305 ${QUIET} &`],
] as const;

it.each(variants(hidden))(
  'finds a process that %s through its shell, and lists it while the session continues',
  async (_what, command) => {
    const { kit, stageId } = await afterCommand(`nohup sleep 306 ${QUIET} & ${command}`);
    await kit.client.command('stop_stage', { stageId });
    const [left] = await leftBy(kit, stageId, 1);
    await kit.client.command('send_message', { stageId, message: 'Go on' });
    await kit.client.state(stageId, 'idle');
    const { processes } = await kit.client.command('get_leftovers', { stageId });
    expect(processes).toMatchObject([{ pid: left?.pid, command: 'sleep 305' }]);
    if (left !== undefined) await killProcess(left);
    expect(await kit.client.command('get_leftovers', { stageId })).toEqual({ processes: [] });
  },
);

it('names what runs on before a stage is deleted and after', async () => {
  const { kit, stageId } = await afterCommand(`env -i setsid sleep 305 &`);
  const { client } = kit;
  await client.command('stop_stage', { stageId });
  await leftBy(kit, stageId, 1);
  const running = [expect.objectContaining({ command: 'sleep 305' })];
  expect((await client.command('get_removal', { stageId })).removal.running).toEqual(running);
  expect((await client.command('remove_stage', { stageId })).running).toEqual(running);
});
