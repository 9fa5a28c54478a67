/** A newer release on the same data, with sessions of the real CLI alive: machine by machine on one PostgreSQL, by packages as people install them. */
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../test-support/free-port.ts';
import { git } from '../test-support/git.ts';
import { createDatabase, postgresLack } from '../test-support/postgres.ts';
import { until } from '../test-support/until.ts';
import { ALL } from '../test-support/variants.ts';
import { callApi } from './support/api.ts';
import { openBrowser } from './support/browser.ts';
import { install, ofClone, type Program } from './support/callboard.ts';
import {
  checkOut,
  commitWithFewerMigrations,
  installPackage,
  MIGRATIONS,
  newestIn,
  pack,
  ROOT,
} from './support/packages.ts';
import { claudePids, run } from './support/processes.ts';
import { apiOf } from './support/scene.ts';

/** To pack and install two releases took two minutes beside other tests. */
const PACKING_MS = 600_000;

/** Nobody asks it: its name is what makes two repositories one project. */
const REMOTE = 'git://127.0.0.1:1/team/shop.git';

let folder: string;
let current: Program;
beforeAll(async () => {
  if (!ALL) return;
  folder = await realpath(await mkdtemp(join(tmpdir(), 'callboard-upgrade-')));
  current = await installPackage(join(folder, 'current'), pack(ROOT, join(folder, 'now')));
}, PACKING_MS);
afterAll(async () => {
  if (ALL) await rm(folder, { recursive: true, force: true });
});

interface Releases {
  older: Program;
  newer: Program;
}

/** The newest commit whose schema is older than that of this one, and this one; a text says why there are none. */
async function withTheOneBefore(): Promise<Releases | string> {
  const commit = commitWithFewerMigrations('HEAD');
  if (commit === null || commit === '') return 'the history has no older schema';
  const checkout = join(folder, 'older-checkout');
  const { lack: without } = await checkOut(commit, checkout, onTestFinished);
  if (without !== null) return without;
  const older = await installPackage(join(folder, 'older'), pack(checkout, join(folder, 'then')));
  return { older, newer: current };
}

let next: Promise<Releases | string> | undefined;

/** This one, and the same with one more migration: what this one will be the older release of. */
function withTheNext(): Promise<Releases | string> {
  next ??= packTheNext();
  return next;
}

async function packTheNext(): Promise<Releases | string> {
  const checkout = join(folder, 'next-checkout');
  const { lack: without } = await checkOut('HEAD', checkout, onTestFinished);
  if (without !== null) return without;
  const text = await readFile(join(ROOT, MIGRATIONS), 'utf8');
  const more = `{ id: ${newestIn(text) + 1}, statements: ['create table of_the_next_release (id text primary key)'] },`;
  await writeFile(join(checkout, MIGRATIONS), text.replace(/\];\s*$/, `${more}\n];\n`));
  const newer = await installPackage(join(folder, 'next'), pack(checkout, join(folder, 'soon')));
  return { older: current, newer };
}

const append = (word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> made.txt`, description: `Write ${word}` },
});

/** Each starts two sessions beside other tests. */
const slowly = { withinMs: 60_000 };

/** A machine whose sessions and data stay while its Callboard is replaced. */
async function createMachine(name: string, databaseUrl: string, older: Program) {
  const env = { CALLBOARD_DATABASE_URL: databaseUrl, CALLBOARD_MACHINE_NAME: name };
  const installation = await install(env, onTestFinished, false, older);
  const { repo, dataDir, folder: own, command } = installation;
  await git(repo, 'remote', 'add', 'origin', REMOTE);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  return {
    name,
    origin,
    command,
    api: apiOf(origin),
    /** What runs `claude` there. */
    pids: () => claudePids(own),
    async start(program: Program) {
      const running = await installation.start(port, program, ['--trust-shared-store']);
      const said: string[] = [];
      running.supervisor.stderr?.on('data', (data) => said.push(String(data)));
      onTestFinished(running.stop);
      return { ...running, said: () => said.join('') };
    },
    made: (stageId: string) =>
      readFile(join(dataDir, 'worktrees', 'shop', stageId, 'made.txt'), 'utf8').catch(() => ''),
  };
}
type Machine = Awaited<ReturnType<typeof createMachine>>;

interface Asked {
  stageId: string;
  requestId: string;
}

/** Starts a stage on a machine, and waits until it asks for a command. */
async function asking({ api, name }: Machine, word: string): Promise<Asked> {
  const stageId = await api.stage(`Write ${word}`, [{ tools: [append(word)] }, { text: 'Written.' }], {
    machine: name,
  });
  await api.start(stageId);
  let requestId = '';
  await until(
    `${stageId} asks`,
    async () => {
      const { pending } = await api.get(`/api/sessions/${stageId}/pending`);
      requestId = pending[0]?.requestId ?? '';
      return requestId !== '';
    },
    slowly,
  );
  return { stageId, requestId };
}

async function approve({ origin }: Machine, { stageId, requestId }: Asked) {
  const path = `/api/sessions/${stageId}/approve`;
  const response = await callApi(origin, 'POST', path, { requestId, decision: 'allow' });
  return { status: response.status, ...(await response.json()) };
}

/** What a machine with an older release says once the schema is newer. @param knows whether its release can say it everywhere */
async function expectRefusals(machine: Machine, asked: Asked, knows: boolean): Promise<void> {
  expect(await approve(machine, asked)).toMatchObject({ status: 503, code: 'storage_failed', detail: NEWER });
  const stage = { projectId: 'shop', title: 'Another', prompt: 'Do it.' };
  expect((await callApi(machine.origin, 'POST', '/api/stages', stage)).status).toBe(503);
  const { warnings } = await machine.api.get('/api/board'); // it can still be read
  expect(warnings).toContainEqual(NEWER);
  if (!knows) return;
  expect(await machine.api.get('/api/health')).toMatchObject({ status: 'ok', storeTrouble: NEWER });
  const doctor = await machine.command('doctor', '--no-handshake');
  expect(doctor).toMatchObject({ code: 1, output: expect.stringMatching(/problem +Store .*by a newer Callboard/) });
}

const NEWER = expect.stringMatching(
  /the database was written by a newer Callboard \(version \d+, this one knows \d+\)/,
);

const onPostgres = `${postgresLack && ` (${postgresLack})`}`;

it.skipIf(postgresLack !== '')(`says everywhere that its database is newer, and what to do${onPostgres}`, async () => {
  const url = await createDatabase();
  const sql = (text: string) =>
    run('psql', ['--no-psqlrc', '--tuples-only', '--no-align', '--command', text, url], '/');
  const machine = await createMachine('desk', url, ofClone);
  const { loginLink, said } = await machine.start(ofClone);
  const asked = await asking(machine, 'it');
  const pids = await machine.pids();
  const { page } = await openBrowser();
  await page.goto(loginLink);
  await page.getByText('Write it').first().waitFor({ timeout: slowly.withinMs });
  const version = (await sql('select version from cluster_state')).trim();
  await sql('update cluster_state set version = 9999');
  await expectRefusals(machine, asked, true);
  await page.getByText('the database was written by a newer Callboard').first().waitFor();
  await until('its terminal says it', () => TERMINAL.test(said()));
  // As if the newer one ran, which the package tests have.
  await sql(`update cluster_state set version = ${version}`);
  await until('it takes the answer', async () => (await approve(machine, asked)).status === 200);
  await until('the command has run', async () => (await machine.made(asked.stageId)) === 'it\n');
  expect(await machine.pids()).toEqual(pids);
});

const TERMINAL = /^callboard: Nothing can be stored: .* newer Callboard .*start it\./m;

/** With packages, as people install them. To pack two takes long: in `npm test`, a database that is changed by hand represents the newer one. */
describe.runIf(ALL && postgresLack === '')(`an upgrade${onPostgres}`, () => {
  const RELEASES = [
    ['the release with the schema before to this one', withTheOneBefore, false],
    ['this release to one with a newer schema', withTheNext, true],
  ] as const;

  it.for(RELEASES)(
    'of one machine after the other, from %s, ends no session and loses nothing',
    { timeout: 2 * PACKING_MS },
    async ([, prepare, knows], { skip }) => {
      const releases = await prepare();
      if (typeof releases === 'string') return skip(releases);
      const { older, newer } = releases;
      const url = await createDatabase();
      const [desk, attic] = [await createMachine('desk', url, older), await createMachine('attic', url, older)];
      const first = await desk.start(older);
      const second = await attic.start(older);
      const [here, there, later] = [
        await asking(desk, 'here'),
        await asking(attic, 'there'),
        await asking(attic, 'later'),
      ];
      const pids = { desk: await desk.pids(), attic: await attic.pids() };
      const { page } = await openBrowser();
      await page.goto(second.loginLink);
      await page.getByText('Write there').first().waitFor({ timeout: slowly.withinMs });

      await first.stop();
      await desk.start(newer);
      expect(await desk.pids()).toEqual(pids.desk);
      expect(await approve(desk, here)).toMatchObject({ status: 200, decision: { delivery: 'confirmed' } });
      await expectRefusals(attic, there, knows);
      await page.getByText('the database was written by a newer Callboard').first().waitFor();
      if (knows) await until('its terminal says it', () => TERMINAL.test(second.said()));
      // An answer for it is taken where things can be stored.
      expect(await approve(desk, later)).toMatchObject({ status: 200, decision: { outcome: 'allowed' } });
      await until(
        'the older one has lost its lease',
        async () => JSON.stringify(await desk.api.get('/api/machines')).includes('"unreachable"'),
        { withinMs: 45_000 }, // a lease lasts 20 s
      );
      await page.getByText('the database was written by a newer Callboard').first().waitFor();
      await second.stop();
      await expect(attic.start(older)).rejects.toThrow(/cannot start: the database was written by a newer Callboard/);
      expect(await attic.pids()).toEqual(pids.attic);

      await attic.start(newer);
      expect(await approve(attic, there)).toMatchObject({ status: 200, decision: { delivery: 'confirmed' } });
      for (const [machine, { stageId }, word] of [
        [desk, here, 'here'],
        [attic, there, 'there'],
        [attic, later, 'later'],
      ] as const) {
        const isOver = async () => (await desk.api.get(`/api/stages/${stageId}`)).stage.column === 'review';
        await until(`${stageId} is in review`, isOver, slowly);
        expect(await machine.made(stageId)).toBe(`${word}\n`); // once
        const { entries } = await desk.api.get(`/api/sessions/${stageId}/transcript`);
        expect(entries.filter(({ kind }: { kind: string }) => kind === 'notice')).toEqual([]);
      }
      const { decisions } = await desk.api.get('/api/decisions');
      expect(decisions.map(({ delivery }: { delivery: string }) => delivery)).toEqual(Array(3).fill('confirmed'));
      expect({ desk: await desk.pids(), attic: await attic.pids() }).toEqual(pids);
      for (const machine of [desk, attic]) expect(await machine.command('down')).toMatchObject({ code: 0 });
    },
  );

  it('cannot be taken back: an older release refuses the file of a newer one, which goes on with it', {
    timeout: 2 * PACKING_MS,
  }, async ({ skip }) => {
    const releases = await withTheNext();
    if (typeof releases === 'string') return skip(releases);
    const { older, newer } = releases;
    const { start, command, model, folder: own } = await install({}, onTestFinished, false, older);
    const first = await start(0, newer);
    const api = apiOf(first.origin, model);
    const stageId = await api.stage('Write it', [{ tools: [append('it')] }, { text: 'Written.' }]);
    await api.start(stageId);
    await expect.poll(async () => (await api.get('/api/pending')).pending.length).toBe(1);
    const pids = await claudePids(own);
    await first.stop();
    await expect(start(0, older)).rejects.toThrow(
      /The database was written by a newer Callboard .*Start the newer one/,
    );
    const doctor = await command('doctor', '--no-handshake');
    expect(doctor).toMatchObject({ code: 1, output: expect.stringMatching(/problem +Store .*by a newer Callboard/) });
    const second = await start(0, newer);
    onTestFinished(second.stop);
    expect(await claudePids(own)).toEqual(pids);
    const later = apiOf(second.origin, model);
    const [request] = (await later.get('/api/pending')).pending;
    const { requestId } = request;
    const answer = await later.post(`/api/sessions/${stageId}/approve`, { requestId, decision: 'allow' });
    expect(answer).toMatchObject({ decision: { delivery: 'confirmed' } });
    await second.stop();
    expect(await command('down')).toMatchObject({ code: 0, output: expect.stringContaining('Ended 1 session') });
  });
});
