import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { createKit, type Kit, type KitOptions } from '../support/kit.ts';

const run = promisify(execFile);
const works = (command: string, ...args: string[]) =>
  run(command, args).then(
    () => true,
    () => false,
  );
const hasSandbox = (await works('bwrap', '--version')) && (await works('socat', '-V'));

/** Resolves nowhere (RFC 6761): an allowed connection reaches nothing. */
const HOST = 'nowhere.invalid';
const curl = (path: string, seconds = 20) => {
  const command = `curl -sS --max-time ${seconds} http://${HOST}:8080/${path}`;
  return { name: 'Bash', input: { command, description: 'Fetch' } };
};
const fetches = (...paths: string[]) =>
  prompt({ steps: [...paths.map((path) => ({ tools: [curl(path)] })), { text: 'Done.' }] });

/** Starts an orchestrator whose sessions run their commands in the sandbox, by default without asking. */
async function sandboxedKit(sandboxAutoAllow = true, options: KitOptions = {}): Promise<Kit> {
  const kit = await createKit(options);
  const settings = { sandbox: true, sandboxAutoAllow };
  await kit.client.command('update_project', { projectId: 'shop', settings });
  await kit.client.notices(({ sandbox }) => sandbox.state === 'works');
  return kit;
}

describe.skipIf(!hasSandbox)('the network of a sandbox (needs bubblewrap and socat)', () => {
  it('asks for each host, remembers it for the project on request, and asks again after that is revoked', async () => {
    const { client, startStage } = await sandboxedKit();
    const first = await startStage(fetches('one', 'two'));
    const { requestId, ...request } = await client.event('network-requested');
    expect(request).toMatchObject({ input: { host: HOST }, toolUseId: '', suggestions: [] });
    expect(request.commands.map(({ text }) => text)).toEqual([curl('one').input.command]);
    await client.command('approve_tool', { stageId: first, requestId, decision: 'allow', remember: 'project' });
    await client.state(first, 'idle'); // the second connection needed no request
    const { rules } = await client.command('get_rules', { projectId: 'shop' });
    expect(rules).toMatchObject([{ kind: 'host', rule: HOST, scope: 'project', by: 'Ada' }]);

    const second = await startStage(fetches('three'));
    await client.state(second, 'idle');
    expect(client.events.filter(({ type }) => type === 'network-requested')).toHaveLength(1);

    await client.command('remove_rule', { ruleId: rules[0]?.ruleId });
    const third = await startStage(fetches('four', 'five'));
    const again = await client.event('network-requested', ({ stageId }) => stageId === third);
    await client.command('approve_tool', { stageId: third, requestId: again.requestId, decision: 'deny' });
    const next = (other: { requestId: string }) => other.requestId !== requestId && other.requestId !== again.requestId;
    const last = await client.event('network-requested', next); // a denial is not remembered
    await client.command('approve_tool', { stageId: third, requestId: last.requestId, decision: 'deny' });
    await client.state(third, 'idle');
    const results = (await client.transcript(third)).filter((entry) => entry.kind === 'tool-result');
    expect(results.map(({ text }) => text.includes('user denied'))).toEqual([true, true]);
  });

  it('lets a command reach the hosts that were allowed with it while it runs, over a crash as well; a later one asks again', async () => {
    const kit = await sandboxedKit(false, { where: 'apart' });
    await kit.client.command('update_project', { projectId: 'shop', settings: { sandboxHosts: ['kept.invalid'] } });
    // What the launch itself allows and denies stays as it is, meanwhile and afterwards.
    const rest = `curl -sS http://kept.invalid/; ls ${kit.dataDir}`;
    const commandFor = (name: string) => `git ls-remote http://${HOST}/${name}.git; ${rest}`;
    const [first, second] = [commandFor('one'), commandFor('two')];
    const run = (command?: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'List' } }] });
    const stageId = await kit.startStage(prompt({ steps: [run(first), run(second), { text: 'Done.' }] }));
    const asked = await kit.client.event('approval-requested');
    expect(asked).toMatchObject({ input: { command: first }, hosts: [HOST] });
    const answer = { stageId, decision: 'allow' };
    const wrong = kit.client.command('approve_tool', {
      ...answer,
      requestId: asked.requestId,
      hosts: ['other.invalid'],
    });
    await expect(wrong).rejects.toMatchObject({ code: 'bad_request' });
    await kit.client.command('approve_tool', { ...answer, requestId: asked.requestId, hosts: [HOST] });
    await kit.kill();
    await kit.start();

    const next = await kit.client.event('approval-requested', ({ requestId }) => requestId !== asked.requestId);
    expect(next).toMatchObject({ input: { command: second }, hosts: [HOST] });
    const { decisions } = await kit.client.command('get_decisions', {});
    expect(decisions).toMatchObject([{ requestId: asked.requestId, by: 'Ada', hosts: [HOST], delivery: 'confirmed' }]);
    await kit.client.command('approve_tool', { ...answer, requestId: next.requestId });
    const { requestId } = await kit.client.event('network-requested');
    await kit.client.command('approve_tool', { ...answer, requestId, decision: 'deny' });
    await kit.client.state(stageId, 'idle');
    const results = (await kit.client.transcript(stageId)).filter((entry) => entry.kind === 'tool-result');
    expect(results.map(({ text }) => text.includes('user denied'))).toEqual([false, true]);
    for (const { text } of results) {
      expect(text).toMatch(/^worktrees$/m);
      expect(text).not.toContain('store.sqlite');
    }
    const log = await kit.client.command('get_decisions', { kind: 'network' });
    expect(log.decisions).toMatchObject([{ requestId, asked: `Network ${HOST}`, outcome: 'denied' }]);
  });

  itAll('closes a request once its command gives up, so that the next command asks again', async () => {
    const { client, startStage } = await sandboxedKit();
    const script = prompt({ steps: [{ tools: [curl('one', 1)] }, { text: 'Done.' }] });
    const stageId = await startStage(script);
    const { requestId } = await client.event('network-requested');
    const closed = await client.event('approval-resolved');
    expect(closed).toMatchObject({ requestId, outcome: 'closed', by: null });
    await client.state(stageId, 'idle');
    await client.command('send_message', { stageId, message: fetches('two') });
    const next = await client.event('network-requested', (request) => request.requestId !== requestId);
    await client.command('approve_tool', { stageId, requestId: next.requestId, decision: 'deny' });
    await client.state(stageId, 'idle');
  });
});
