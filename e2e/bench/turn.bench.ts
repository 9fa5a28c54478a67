import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Health } from '@callboard/contract';
import { it, onTestFinished } from 'vitest';
import { REAL_CLAUDE } from '../../test-support/real-claude.ts';
import { temporaryFolder } from '../../test-support/temporary-folder.ts';
import { install } from '../support/callboard.ts';
import { run } from '../support/processes.ts';
import { report } from './results.ts';
import { startRaw, startRelay } from './turn/baselines.ts';
import { startCallboardPartner } from './turn/callboard.ts';
import { createCpuAccount, whenAtRest } from './turn/cpu.ts';
import { clickFigures, costFigures, type Turns, turnFigures } from './turn/figures.ts';
import { startOnFiles } from './turn/files.ts';
import { type Partner, permissionTurn } from './turn/partner.ts';
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

it('measures a permission turn through Callboard beside the raw pipe and a relay, turn by turn', async () => {
  const recorded = await temporaryFolder();
  const installation = await install(
    {
      CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex'),
      NODE_OPTIONS: `--import=${RECORDER}`,
      BENCH_MARKS: join(recorded, 'marks'),
      ...(process.env.BENCH_PROFILES !== undefined && { BENCH_PROFILES: process.env.BENCH_PROFILES }),
    },
    onTestFinished,
    writeClean,
  );
  const { folder, repo } = installation;
  const running = await installation.start();
  onTestFinished(() => running.stop());
  const callboard = await startCallboardPartner(installation, running, TOKEN);
  onTestFinished(callboard.end);
  const launchIn = async (name: string) => {
    const cwd = join(folder, name);
    await run('git', ['worktree', 'add', '--quiet', '-b', name, cwd], repo); // a stage has one as well
    return { ...callboard.launch, cwd };
  };
  const raw = startRaw(await launchIn('raw'));
  onTestFinished(raw.end);
  const files = await startOnFiles(await launchIn('files'), join(folder, 'launch'));
  onTestFinished(files.end);
  const relay = await startRelay(await launchIn('relay'), join(folder, 'relay.sqlite'));
  onTestFinished(relay.end);

  const turns: Turns = { raw: [], files: [], relay: [], callboard: [] };
  const cpu = createCpuAccount([callboard.orchestrator, callboard.webServer]);
  await takeTurns({ raw, files, relay, callboard }, turns, cpu);
  const health = Health.parse(
    await (await fetch(`${running.origin}/api/health`, { headers: callboard.headers })).json(),
  );
  await running.stop();
  const marks = await readMarks(recorded);
  const callboardTurns = turns.callboard.map((turn) => ({
    ...turn,
    message: writtenOf(marks, turn.sentAt, 'send_message'),
    answer: writtenOf(marks, turn.askedAt, 'approve_tool'),
  }));
  const all = { ...turns, callboard: callboardTurns };
  console.log('Where the time of a turn goes, in ms (medians)');
  console.table(stepsTable(callboardTurns, marks));
  report('turn', [
    ...turnFigures(all),
    ...clickFigures(all),
    ...costFigures(callboardTurns, marks, cpu.perWork(), health),
  ]);
}, 600_000);

/** Has the partners take their turns one after the other, and records the times. */
async function takeTurns(
  by: Record<keyof Turns, Partner>,
  turns: Turns,
  cpu: ReturnType<typeof createCpuAccount>,
): Promise<void> {
  const partners: [keyof Turns, Partner][] = [
    ['raw', by.raw],
    ['files', by.files],
    ['relay', by.relay],
    ['callboard', by.callboard],
  ];
  const pids = partners.flatMap(([, partner]) => partner.pids);
  for (let n = 0; n < TURNS + DROPPED; n += 1) {
    // Each partner goes first equally often, so that none always follows the same one.
    for (const at of partners.map((_, index) => n + index)) {
      const [name, partner] = partners[at % partners.length] ?? ['raw', by.raw];
      const isCallboard = name === 'callboard';
      await cpu.begin();
      const turn = await permissionTurn(partner, n);
      await sleep(isCallboard ? LONG_PAUSE_MS : PAUSE_MS);
      await whenAtRest(pids);
      if (n < DROPPED) continue;
      turns[name].push(turn);
      await cpu.end(isCallboard ? 'work' : 'rest'); // Callboard rests while the others work
    }
  }
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
