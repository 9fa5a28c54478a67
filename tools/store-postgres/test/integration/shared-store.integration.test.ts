import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../../../test-support/free-port.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { createDatabaseOn, postgresLack, startPostgres } from '../../../../test-support/postgres.ts';
import { createKit, type Kit, untilConfirmed } from '../../../orchestrator/test/support/kit.ts';
import { livingProcess } from '../../../orchestrator/test/support/living-process.ts';

const append = (word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> made.txt`, description: `Write ${word}` },
});
const madeBy = ({ dataDir }: Kit, stageId: string) =>
  readFile(join(dataDir, 'worktrees', 'shop', stageId, 'made.txt'), 'utf8');
const textsOf = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));

/** A server of its own, for tests that stop it. */
async function ownServer() {
  const server = await startPostgres();
  return { server, databaseUrl: await createDatabaseOn(server.address) };
}

describe.skipIf(postgresLack !== '')(`a shared store${postgresLack && ` (${postgresLack})`}`, () => {
  it('keeps a request over SIGKILL of the orchestrator, and over a crash of PostgreSQL', async () => {
    const { server, databaseUrl } = await ownServer();
    const kit = await createKit({ where: 'apart', machine: { databaseUrl, name: 'here' } });
    const steps = [{ tools: [append('one')] }, { tools: [append('two')] }, { text: 'All finished.' }];
    const stageId = await kit.startStage(prompt({ steps }));
    const first = await kit.client.event('approval-requested');
    const { pid } = await livingProcess(kit, stageId);
    await kit.kill();
    await server.stop('immediate');
    await server.start();
    await kit.start('apart');
    expect((await livingProcess(kit, stageId)).pid).toBe(pid);
    const answer = { stageId, requestId: first.requestId, decision: 'allow' };
    await kit.client.command('approve_tool', answer);
    await untilConfirmed(kit, first.requestId);
    await expect(kit.client.command('approve_tool', answer)).rejects.toMatchObject({ code: 'already_decided' });
    const second = await kit.client.event('approval-requested', ({ requestId }) => requestId !== first.requestId);
    await kit.client.command('approve_tool', { stageId, requestId: second.requestId, decision: 'allow' });
    await kit.client.state(stageId, 'idle');
    expect(await madeBy(kit, stageId)).toBe('one\ntwo\n');
  });

  it('refuses decisions in words while PostgreSQL is gone, and loses and doubles nothing when it is back', async () => {
    const { server, databaseUrl } = await ownServer();
    const kit = await createKit({ machine: { databaseUrl, name: 'here' }, limits: { diskCheckIntervalMs: 50 } });
    const asking = await kit.startStage(prompt({ steps: [{ tools: [append('one')] }, { text: 'Done.' }] }));
    const { requestId } = await kit.client.event('approval-requested');
    const working = await kit.startStage(prompt({ steps: [{ text: 'Said meanwhile.', gate: 'go' }] }));
    await kit.client.state(working, 'busy');
    await kit.model.waitForRequest((request) => request.kind === 'script');
    const { launchId } = (await kit.client.command('get_session', { stageId: working })).session;
    const spool = join(kit.dataDir, 'sessions', working, launchId ?? '', 'out.jsonl');
    await server.stop('fast');

    const answer = { stageId: asking, requestId, decision: 'allow' };
    await expect(kit.client.command('approve_tool', answer)).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringContaining('did not happen'),
    });
    await kit.client.notices(({ warnings }) => warnings.some((text) => text.startsWith('Nothing can be stored')));
    kit.model.release('go');
    await expect.poll(() => readFile(spool, 'utf8')).toContain('Said meanwhile.'); // the session goes on

    await server.start();
    await kit.client.notices(({ warnings }) => warnings.length === 0);
    await kit.client.state(working, 'idle');
    expect(await textsOf(kit, working)).toEqual(['Said meanwhile.']);
    await kit.client.command('approve_tool', answer);
    await kit.client.state(asking, 'idle');
    expect(await madeBy(kit, asking)).toBe('one\n');
    const { pending } = await kit.client.command('get_pending');
    expect(pending).toEqual([]);
    // Another start of the server may lack events that clients know: their numbers are skipped, and none comes twice.
    const steps = kit.client.events.map(({ seq }, index, all) => seq - (all[index - 1]?.seq ?? seq - 1));
    expect(steps.filter((step) => step !== 1)).toEqual([1_000_000_001]);
  });

  itAll('stops in order while PostgreSQL is gone, and goes on at the next start', async () => {
    const { server, databaseUrl } = await ownServer();
    const kit = await createKit({ machine: { databaseUrl, name: 'here' } });
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'Said meanwhile.', gate: 'go' }] }));
    await kit.model.waitForRequest((request) => request.kind === 'script');
    const { pid } = await livingProcess(kit, stageId);
    await server.stop('immediate');
    kit.model.release('go');
    await kit.stop();
    await expect(kit.start()).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringMatching(
        /^The store 127\.0\.0\.1:\d+\/test_\w+ cannot be opened: the database cannot be reached/,
      ),
    });
    await server.start();
    await kit.start();
    await kit.client.state(stageId, 'idle');
    expect((await livingProcess(kit, stageId)).pid).toBe(pid);
    expect(await textsOf(kit, stageId)).toEqual(['Said meanwhile.']);
  });

  itAll('starts on the second host of a URL while the first is down', async () => {
    const { databaseUrl } = await ownServer();
    const url = new URL(databaseUrl);
    const hosts = `127.0.0.1:${await freePort()},${url.host}`;
    const both = databaseUrl.replace(url.host, hosts);
    const kit = await createKit({
      machine: { databaseUrl: `${both}?target_session_attrs=read-write`, name: 'here' },
    });
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'Well.' }] }));
    await kit.client.state(stageId, 'idle');
    expect(await textsOf(kit, stageId)).toEqual(['Well.']);
  });
});
