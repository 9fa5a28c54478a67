import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createDatabaseOn,
  postgresLack,
  receivedBytes,
  runSql,
  type ServerAddress,
  startPostgres,
  startStandby,
} from '../../../../test-support/postgres.ts';
import { until } from '../../../../test-support/until.ts';
import { createKit, type Kit, untilConfirmed } from '../../../orchestrator/test/support/kit.ts';
import { livingProcess } from '../../../orchestrator/test/support/living-process.ts';

const append = (word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> made.txt`, description: `Write ${word}` },
});
const madeBy = ({ dataDir }: Kit, stageId: string) =>
  readFile(join(dataDir, 'worktrees', 'shop', stageId, 'made.txt'), 'utf8');

/** Nothing is written unasked while a test looks at what the standby has. */
const QUIET = { lease: { leaseMs: 600_000, renewMs: 300_000, marginMs: 3_000 } };

/** A session whose first request was answered, and whose second one is open, on a server with a standby. */
async function askingSession(waitsFor = '*') {
  const primary = await startPostgres();
  const databaseUrl = await createDatabaseOn(primary.address);
  const standby = await startStandby(primary, onTestFinished, { waitsFor });
  const hosts = `127.0.0.1:${primary.address.port},127.0.0.1:${standby.address.port}`;
  const both = `${databaseUrl.replace(new URL(databaseUrl).host, hosts)}?target_session_attrs=read-write`;
  const kit = await createKit({
    isEmulated: true,
    machine: { databaseUrl: both, name: 'here' },
    limits: { diskCheckIntervalMs: 50, ...QUIET },
  });
  const steps = [{ tools: [append('one')] }, { tools: [append('two')] }, { text: 'All finished.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  const first = await kit.client.event('approval-requested');
  await kit.client.command('approve_tool', { stageId, requestId: first.requestId, decision: 'allow' });
  await untilConfirmed(kit, first.requestId);
  const open = await kit.client.event('approval-requested', ({ requestId }) => requestId !== first.requestId);
  // The last thing that a request writes. Its commit is not waited for: later, it would reach only the first server.
  const announced = `select count(*) from announcements where key = 'request ${stageId} ${open.requestId}'`;
  const inDatabase = (at: ServerAddress, sql: string) => runSql(at, sql, basename(new URL(databaseUrl).pathname));
  await until('it is announced', async () => (await inDatabase(primary.address, announced)) === '1');
  const answer = { stageId, requestId: open.requestId, decision: 'allow' };
  const stored = (at: ServerAddress, requestId: string) =>
    inDatabase(at, `select state from outbox where wire_id = '${requestId}'`);
  return { primary, standby, kit, stageId, first: first.requestId, answer, stored };
}

type Scene = Awaited<ReturnType<typeof askingSession>>;

const PATIENT = { withinMs: 60_000 };

/** Waits until the standby has everything on its disk, also what nobody waited for. */
async function untilSame({ primary }: Pick<Scene, 'primary'>): Promise<void> {
  const sql = 'select bool_and(flush_lsn = pg_current_wal_insert_lsn()) from pg_stat_replication';
  await until('the standby has everything', async () => (await runSql(primary.address, sql)) === 't');
}

/** Waits until a commit waits for the standby. */
async function untilCommitWaits({ primary }: Scene): Promise<void> {
  // The server's own workers, such as autovacuum, may wait as well.
  const waits = "select count(*) from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'callboard'";
  await until('a commit waits for the standby', async () => (await runSql(primary.address, waits)) !== '0', PATIENT);
}

/** Waits until everything was sent to the standby, which need not have read it. Resolves with how much that is. */
async function untilSent({ primary }: Scene): Promise<number> {
  const sent =
    "select case when sent_lsn = pg_current_wal_insert_lsn() then sent_lsn - '0/0' end from pg_stat_replication";
  let bytes = '';
  await until('it was sent', async () => {
    bytes = await runSql(primary.address, sent);
    return bytes !== '';
  });
  return Number(bytes);
}

/** The session has gone on to its end, each tool ran once, and every decision is there once, confirmed. */
async function expectWhole({ kit, stageId, standby, first, answer, stored }: Scene): Promise<void> {
  await untilConfirmed(kit, answer.requestId);
  await expect(kit.client.command('approve_tool', answer)).rejects.toMatchObject({ code: 'already_decided' });
  await kit.client.state(stageId, 'idle');
  expect(await madeBy(kit, stageId)).toBe('one\ntwo\n');
  for (const requestId of [first, answer.requestId]) expect(await stored(standby.address, requestId)).toBe('confirmed');
  const { decisions } = await kit.client.command('get_decisions', { stageId });
  expect(decisions.map(({ requestId, delivery }) => [requestId, delivery])).toEqual([
    [answer.requestId, 'confirmed'],
    [first, 'confirmed'],
  ]);
  // The numbers that the first server may have given skip to those of another epoch, and no event comes twice.
  const steps = kit.client.events.map(({ seq }, index, all) => seq - (all[index - 1]?.seq ?? seq - 1));
  const jumps = steps.filter((step) => step !== 1);
  expect(jumps).toHaveLength(1); // pages load the board anew, so what was stored and not told before is told then
  expect(jumps[0]).toBeGreaterThan(1_000_000_000);
}

describe.skipIf(postgresLack !== '')(`a fail-over to a standby${postgresLack && ` (${postgresLack})`}`, () => {
  it('loses nothing that was confirmed, and the next decision is taken there unasked', async () => {
    const scene = await askingSession();
    const { primary, standby, kit, stageId, answer } = scene;
    const { pid } = await livingProcess(kit, stageId);
    await untilSame(scene);
    await primary.kill();
    await expect(kit.client.command('approve_tool', answer)).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringContaining('did not happen'), // the standby takes no writes yet
    });
    await kit.client.notices(({ warnings }) => warnings.some((text) => text.startsWith('Nothing can be stored')));

    await standby.promote();
    await kit.client.notices(({ warnings }) => warnings.length === 0);
    expect((await livingProcess(kit, stageId)).pid).toBe(pid);
    await kit.client.command('approve_tool', answer);
    await expectWhole(scene);
  });

  it('stores a decision once whose commit had reached the standby and nobody else', async () => {
    const scene = await askingSession();
    const { primary, standby, kit, answer } = scene;
    await untilSame(scene);
    const receiver = Number(await runSql(standby.address, 'select pid from pg_stat_wal_receiver'));
    process.kill(receiver, 'SIGSTOP');
    const taken = kit.client.command('approve_tool', answer);
    taken.catch(() => undefined); // looked at below
    await untilCommitWaits(scene);
    const sent = await untilSent(scene);
    await primary.kill();
    process.kill(receiver, 'SIGCONT'); // it finds what was sent; a promotion would end it before, if that came first
    await until('the standby has what was sent', async () => (await receivedBytes(standby.address)) >= sent);
    await standby.promote();
    expect(await taken).toMatchObject({ decision: { requestId: answer.requestId, outcome: 'allowed' } });
    await expectWhole(scene);
  });

  it('says of a decision whose commit the standby never had that it did not happen', async () => {
    const scene = await askingSession();
    const { primary, standby, kit, answer } = scene;
    await untilSame(scene);
    await standby.stop('fast');
    const taken = kit.client.command('approve_tool', answer);
    taken.catch(() => undefined); // looked at below
    await untilCommitWaits(scene);
    await primary.kill();
    await standby.start();
    await standby.promote();
    await expect(taken).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringContaining('did not happen'),
    });
    await kit.client.command('approve_tool', answer);
    await expectWhole(scene);
  });

  it('shows an alarm where the standby lacks a decision that Claude has had already', async () => {
    const scene = await askingSession('');
    const { primary, standby, kit, stageId, answer } = scene;
    await untilSame(scene);
    await standby.stop('fast');
    await kit.client.command('approve_tool', answer); // asynchronous replication does not wait
    await kit.client.state(stageId, 'idle');
    await primary.kill();
    await standby.start();
    await standby.promote();
    await kit.stop(); // as the supervisor does it, once the orchestrator has noticed
    await kit.start();
    expect(await kit.alarm(stageId)).toMatchObject({ code: 'foreign-answer' });
    expect(await madeBy(kit, stageId)).toBe('one\ntwo\n');
    const { decisions } = await kit.client.command('get_decisions', { stageId });
    expect(decisions).toMatchObject([{ requestId: answer.requestId, outcome: 'closed' }, { outcome: 'allowed' }]);
  });
});
