import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Health } from '@callboard/contract';
import { it, onTestFinished } from 'vitest';
import { type Installation, install, type Running } from '../../../e2e/support/callboard.ts';
import { run } from '../../../e2e/support/processes.ts';
import { createDatabaseOn, postgresLack, startPostgres } from '../../../test-support/postgres.ts';
import { REAL_CLAUDE } from '../../../test-support/real-claude.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { report } from './results.ts';
import { fetchAgentSdk, startAgentSdk } from './turn/agent-sdk.ts';
import { startRaw, startRelay } from './turn/baselines.ts';
import { startCallboardPartner } from './turn/callboard.ts';
import { clock } from './turn/clock.ts';
import { createCpuAccount, whenIdle } from './turn/cpu.ts';
import {
  type Cpu,
  childrenTable,
  clickFigures,
  costFigures,
  cpuTable,
  sharedFigures,
  type Turns,
  turnFigures,
} from './turn/figures.ts';
import { startOnFiles } from './turn/files.ts';
import { type Partner, permissionTurn, type Turn } from './turn/partner.ts';
import { Mark, stepsTable, writtenOf } from './turn/steps.ts';

const TURNS = Number(process.env.BENCH_TURNS ?? 60);
/** The first turns are a warm-up. */
const DROPPED = 3;
const PAUSE_MS = 300;
/**
 * The pause after a turn of Callboard, which defers work until a session has been quiet for a second: that work must not
 * fall into another partner's turn.
 */
const LONG_PAUSE_MS = 1_600;
const TOKEN = 'a-token-for-the-benchmark';
const RECORDER = fileURLToPath(new URL('./turn/record-marks.ts', import.meta.url));

/** What a server syncs on a machine in use; the tests' own one does not. */
const DURABLE = ['fsync = on', 'full_page_writes = on', 'shared_buffers = 128MB'];

it('measures a permission turn through Callboard beside the raw pipe, the Agent SDK and a relay, turn by turn', async () => {
  const own = await startMeasured(null);
  const shared = postgresLack === '' ? await startMeasured(await createDurable()) : null;
  if (shared === null) console.log(`not beside a store on PostgreSQL: ${postgresLack}`);
  const { callboard, installation, running } = own;
  const { folder, repo } = installation;
  const launchIn = async (name: string) => {
    const cwd = join(folder, name);
    await run('git', ['worktree', 'add', '--quiet', '-b', name, cwd], repo); // a stage has one as well
    return { ...callboard.launch, cwd };
  };
  const raw = startRaw(await launchIn('raw'));
  onTestFinished(raw.end);
  const files = await startOnFiles(await launchIn('files'), join(folder, 'launch'));
  onTestFinished(files.end);
  const query = await fetchAgentSdk();
  if (typeof query === 'string') console.log(`not beside the Agent SDK: ${query}`);
  const agentSdk = typeof query === 'string' ? null : startAgentSdk(query, await launchIn('agent-sdk'));
  if (agentSdk !== null) onTestFinished(agentSdk.end);
  const relay = await startRelay(await launchIn('relay'), join(folder, 'relay.sqlite'));
  onTestFinished(relay.end);

  const partners = new Map<keyof Turns, Partner>([
    ['raw', raw],
    ['files', files],
    ...(agentSdk === null ? [] : [['agentSdk', agentSdk] as const]),
    ['relay', relay],
    ['callboard', callboard],
    ...(shared === null ? [] : [['postgres', shared.callboard] as const]),
  ]);
  const taken = await takeTurns(partners);
  const health = Health.parse(
    await (await fetch(`${running.origin}/api/health`, { headers: callboard.headers })).json(),
  );
  const measured = await own.end(taken.turns.callboard);
  const onPostgres = await shared?.end(taken.turns.postgres);
  const turns = { ...taken.turns, callboard: measured.turns, postgres: onPostgres?.turns ?? [] };
  console.log('CPU of a turn until all is at rest, in ms (means), beyond what is used at rest');
  console.table(cpuTable(turns, taken.cpu));
  console.log('Programs that Callboard started for a turn; the kernel counts their time in steps of 10 ms');
  console.table(childrenTable(measured.marks, taken.windows));
  report('turn', [
    ...turnFigures(turns),
    ...clickFigures(turns),
    ...costFigures(turns, taken.cpu, taken.atRest, measured.marks, health),
    ...(onPostgres === undefined ? [] : sharedFigures(turns, onPostgres.marks)),
  ]);
}, 900_000);

/** Callboard with marks, as it is started, and with what its marks say in the end. */
async function startMeasured(databaseUrl: string | null) {
  const recorded = await temporaryFolder();
  const profiles = databaseUrl === null ? process.env.BENCH_PROFILES : undefined;
  const env = {
    CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex'),
    NODE_OPTIONS: `--import=${RECORDER}`,
    BENCH_MARKS: join(recorded, 'marks'),
    ...(profiles !== undefined && { BENCH_PROFILES: profiles }),
    ...(databaseUrl !== null && { CALLBOARD_DATABASE_URL: databaseUrl }),
  };
  const installation: Installation = await install(env, onTestFinished, writeClean);
  const options = databaseUrl === null ? [] : ['--trust-shared-store'];
  const running: Running = await installation.start(0, undefined, options);
  onTestFinished(() => running.stop());
  const callboard = await startCallboardPartner(installation, running, TOKEN);
  onTestFinished(callboard.end);
  const store = databaseUrl === null ? 'SQLite' : 'PostgreSQL';
  const end = async (turns: readonly Turn[]) => {
    await running.stop();
    const marks = await readMarks(recorded);
    const marked = turns.map((turn) => ({
      ...turn,
      message: writtenOf(marks, turn.sentAt, 'send_message'),
      answer: writtenOf(marks, turn.askedAt, 'approve_tool'),
    }));
    console.log(`Where the time of a turn goes with the store on ${store}, in ms (medians)`);
    console.table(stepsTable(marked, marks));
    return { marks, turns: marked };
  };
  return { callboard, installation, running, end };
}

/** A database on a server of its own, which syncs as one in use does, on the same disk as the store in a file. */
async function createDurable(): Promise<string> {
  const { address } = await startPostgres(onTestFinished, DURABLE);
  return createDatabaseOn(address);
}

/** Has the partners take their turns one after the other, and records the times. */
async function takeTurns(partners: ReadonlyMap<keyof Turns, Partner>) {
  const turns: Turns = { raw: [], files: [], agentSdk: [], relay: [], callboard: [], postgres: [] };
  const cpu: Cpu = { raw: [], files: [], agentSdk: [], relay: [], callboard: [], postgres: [] };
  /** From each message to Callboard until it was at rest again. */
  const windows: { from: number; until: number }[] = [];
  const account = createCpuAccount(new Map([...partners].map(([name, { families }]) => [name, families])));
  const families = [...partners.values()].flatMap((partner) => partner.families);
  const order = [...partners];
  for (let n = 0; n < TURNS + DROPPED; n += 1) {
    // Each partner goes first equally often, so that none always follows the same one.
    for (const at of order.map((_, index) => n + index)) {
      const next = order[at % order.length];
      if (next === undefined) continue;
      const [name, partner] = next;
      await account.begin();
      const turn = await permissionTurn(partner, n);
      await sleep(name === 'callboard' || name === 'postgres' ? LONG_PAUSE_MS : PAUSE_MS);
      await whenIdle(families);
      if (n < DROPPED) continue;
      turns[name].push(turn);
      await account.end(name); // all others rest meanwhile
      if (name === 'callboard') windows.push({ from: turn.sentAt, until: clock() });
    }
  }
  for (const name of partners.keys()) cpu[name] = account.ofWork(name);
  return { turns, cpu, windows, atRest: account.atRest('callboard') };
}

/** The real `claude` without the scripts that only Callboard's servers should load, so that all partners run it in the same environment. */
async function writeClean(path: string): Promise<string> {
  const script = `#!/bin/sh\nunset NODE_OPTIONS BENCH_MARKS BENCH_PROFILES\nexec '${REAL_CLAUDE}' "$@"\n`;
  await writeFile(path, script, { mode: 0o755 });
  return path;
}

async function readMarks(folder: string): Promise<Mark[]> {
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
  const marks = texts.flatMap((text) => text.trim().split('\n')).map((line) => Mark.parse(JSON.parse(line)));
  return marks.toSorted((a, b) => a.at - b.at);
}
