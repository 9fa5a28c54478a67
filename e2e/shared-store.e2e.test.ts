import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDatabaseOn, postgresLack, startPostgres } from '../test-support/postgres.ts';
import { until } from '../test-support/until.ts';
import { callApi } from './support/api.ts';
import { install } from './support/callboard.ts';
import { claudePids, descendants, processesOf } from './support/processes.ts';
import { removeOrchestrator } from './support/remove-orchestrator.ts';
import { apiOf } from './support/scene.ts';

const append = (word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> made.txt`, description: `Write ${word}` },
});

describe.skipIf(postgresLack !== '')(`Callboard on PostgreSQL${postgresLack && ` (${postgresLack})`}`, () => {
  it('takes a stage from its start to its review, over SIGKILL of the orchestrator and a crash of PostgreSQL, and shows its password to nobody', async () => {
    // The server holds back for long what need not be on its disk at once, so that its crash takes some of it.
    const server = await startPostgres(onTestFinished, ['wal_writer_delay = 10s']);
    const url = await createDatabaseOn(server.address);
    const { start, command, folder, dataDir } = await install({ CALLBOARD_DATABASE_URL: url });
    const { origin, supervisor, stop } = await start(0, undefined, ['--trust-shared-store']);
    onTestFinished(stop);
    const api = apiOf(origin);
    const stageId = await api.stage('Login form', [
      { text: 'I begin.', tools: [append('one')] },
      { text: 'I go on.', tools: [append('two')] },
      { text: 'All finished.' },
    ]);
    await api.start(stageId);
    const allow = async (word: string) => {
      let requestId = '';
      await until(`the request for ${word} is open`, async () => {
        const response = await callApi(origin, 'GET', '/api/pending');
        if (!response.ok) return false; // the orchestrator starts again
        const { pending } = await response.json();
        const request = pending.find(({ input }: { input: object }) => JSON.stringify(input).includes(`echo ${word} `));
        requestId = request?.requestId ?? '';
        return requestId !== '';
      });
      const path = `/api/sessions/${stageId}/approve`;
      return () => callApi(origin, 'POST', path, { requestId, decision: 'allow' });
    };

    const first = await allow('one');
    const claude = await claudePids(folder);
    const recover = await removeOrchestrator(supervisor.pid);
    recover();
    await until('the first answer is taken', async () => (await first()).ok);
    expect((await first()).status).toBe(409);

    const second = await allow('two');
    await server.stop('immediate');
    const refused = await second();
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ type: expect.stringContaining('storage_failed') });
    await server.start();
    await until('the second answer is taken', async () => {
      await allow('two');
      return (await second()).ok;
    });
    await until('the stage is in review', async () => {
      const response = await callApi(origin, 'GET', `/api/stages/${stageId}`);
      return response.ok && (await response.json()).stage.column === 'review';
    });
    expect(await claudePids(folder)).toEqual(claude);
    expect(await readFile(join(dataDir, 'worktrees', 'shop', stageId, 'made.txt'), 'utf8')).toBe('one\ntwo\n');
    const { entries } = await api.get(`/api/sessions/${stageId}/transcript`);
    const texts = entries.flatMap((entry: { kind: string; text: string }) => (entry.kind === 'text' ? entry.text : []));
    expect(texts).toEqual(['I begin.', 'I go on.', 'All finished.']);
    // A search waits for the index for a moment only, and says what is left: after the crash all of it is looked at again.
    const search = () => api.get('/api/search?q=all+finish&kind=text');
    await until('the index is filled', async () => (await search()).indexing === null);
    const marks = [
      [0, 3],
      [4, 12],
    ];
    expect((await search()).results).toMatchObject([{ stageId, snippet: 'All finished.', marks }]);

    // Its password is shown to nobody.
    const { password } = server.address;
    const { stdout } = await promisify(execFile)('ps', ['-eo', 'args'], { maxBuffer: 16 * 1024 * 1024 });
    expect(stdout).not.toContain(password);
    const environmentOf = (pid: number) => readFile(`/proc/${pid}/environ`, 'utf8');
    for (const pid of await claudePids(folder)) expect(await environmentOf(pid)).not.toContain(password);
    expect(await claudePids(folder)).not.toEqual([]);
    for (const pid of await descendants(supervisor.pid ?? -1))
      expect(await environmentOf(pid).catch(() => '')).not.toContain(password); // one that runs git ends meanwhile
    for (const path of ['/api/health', '/api/board', '/api/machines'])
      expect(await (await callApi(origin, 'GET', path)).text()).not.toContain(password);
    const doctor = await command('doctor', '--no-handshake');
    expect(doctor.output).toMatch(/127\.0\.0\.1:\d+\/test_\w+, PostgreSQL \d+/);
    expect(doctor.output).not.toContain(password);
    const found = await promisify(execFile)('grep', ['-rlF', password, dataDir]).catch(({ code }) => ({
      stdout: code,
    }));
    expect(found.stdout).toBe(1); // grep found nothing

    expect(await command('down')).toMatchObject({ code: 0, output: expect.stringContaining('Ended 1 session') });
    expect(await processesOf(folder)).toEqual([]);
  });
});
