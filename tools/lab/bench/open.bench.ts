import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId, type StageId } from '@callboard/contract';
import { createHttpTransport } from '@callboard/contract/client';
import { identify } from '@callboard/runtime/process-identity';
import { prompt } from '@callboard/scripted-model';
import { it, onTestFinished } from 'vitest';
import { type Installation, install, ofClone } from '../../../e2e/support/callboard.ts';
import { claudePidOf, run } from '../../../e2e/support/processes.ts';
import { commitAll } from '../../../test-support/git.ts';
import { percentile } from './measure.ts';
import { type Figure, report } from './results.ts';
import { type Launch, message } from './turn/baselines.ts';
import { launchOf } from './turn/callboard.ts';
import { clock } from './turn/clock.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 15);
/** The `tools/cli/dist/main.js` of another build, which takes its turns as well. */
const { BENCH_BESIDE } = process.env;
/** The first rounds are a warm-up. */
const DROPPED = 2;
/** What a start leaves behind must not fall into the next one. */
const QUIET_MS = 2_000;
/** How exactly the system knows when a process began. */
const TICK_MS = 10;
const TOKEN = 'a-token-for-the-benchmark';
const FIRST = 'the first of all';
const projectId = ProjectId.parse('shop');

it('measures from Start to the first request, beside the raw pipe, start by start', {
  timeout: 1_800_000,
}, async () => {
  const all: Figure[] = [];
  for (const files of [1, 5_000]) all.push(...(await measure(files)));
  report('open', all);
});

async function measure(files: number): Promise<Figure[]> {
  const own = await openStages(files, ofClone);
  const other = BENCH_BESIDE === undefined ? null : await openStages(files, { ...ofClone, bin: BENCH_BESIDE });
  const raw = await openRaw(own.installation, own.launch, own.first);
  const ways = { own: own.start, ...(other !== null && { other: other.start }), ...raw };
  const times = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS + DROPPED; round++) {
    const turns = Object.entries(ways);
    for (const [name, way] of round % 2 === 0 ? turns : turns.toReversed()) {
      const ms = await way(`${name} ${round} of ${files}`);
      if (round >= DROPPED) times.get(name)?.push(ms);
    }
  }
  await own.end();
  await other?.end();
  times.set('own until claude runs', own.untilSpawn.slice(DROPPED));
  if (other !== null) times.set('other until claude runs', other.untilSpawn.slice(DROPPED));
  const p50 = (name: string) => percentile(times.get(name) ?? [], 0.5);
  const words = [...times].map(([name, all]) => `${name} ${p50(name).toFixed(0)}/${percentile(all, 0.9).toFixed(0)}`);
  const what = files === 1 ? 'a small repository' : `${files.toLocaleString('en')} files`;
  return [
    {
      name: `Start to the first request, ${what}`,
      value: p50('own') / p50('raw'),
      unit: 'x',
      atMost: 1.3,
      baseline: `p50/p90: ${words.join(', ')} ms`,
    },
  ];
}

async function openStages(files: number, program: typeof ofClone) {
  const env = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };
  const installation = await install(env, onTestFinished, false, program);
  const { folder, repo } = installation;
  for (let n = 0; n < files; n++) {
    const place = join(repo, `part-${n % 50}`);
    await mkdir(place, { recursive: true });
    await writeFile(join(place, `file-${n}.ts`), `export const value${n} = ${n};\n`.repeat(40));
  }
  await commitAll(repo);
  const running = await installation.start();
  onTestFinished(() => running.stop());
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  await transport.command('update_project', { projectId, settings: { sandbox: false } });

  async function begin(text: string): Promise<{ stageId: StageId; ms: number; begunAt: number }> {
    const { stage } = await transport.command('create_stage', { projectId, title: text, prompt: scriptOf(text) });
    const stageId = stage.id;
    await sleep(QUIET_MS);
    const [begun, begunAt] = [performance.now(), clock()];
    const [asked] = await Promise.all([isAsked(installation, text), transport.command('start_stage', { stageId })]);
    return { stageId, ms: asked - begun, begunAt };
  }

  /** From each start to its process, to ten milliseconds. */
  const untilSpawn: number[] = [];

  async function start(text: string): Promise<number> {
    const { stageId, ms, begunAt } = await begin(text);
    const claude = await identify(await claudePidOf(folder, stageId));
    untilSpawn.push(Number(claude?.startTime) * TICK_MS - begunAt);
    await sleep(QUIET_MS);
    await transport.command('stop_stage', { stageId });
    return ms;
  }

  const { stageId: first } = await begin(FIRST);
  const launch = await launchOf(await claudePidOf(folder, first));
  const end = () => running.stop().then(() => installation.command('down'));
  return { installation, first, launch, start, end, untilSpawn };
}

const scriptOf = (text: string): string => prompt({ steps: [{ text: 'Ready.' }] }, text);

/** Resolves with when the model is asked for the first time with this text. */
async function isAsked({ model }: Installation, text: string): Promise<number> {
  await model.waitForRequest(({ kind, messages }) => kind === 'script' && JSON.stringify(messages).includes(text));
  return performance.now();
}

/** Processes with nothing in between, started as Callboard starts its own, in worktrees that are there, and what such a worktree costs. */
async function openRaw(installation: Installation, launch: Omit<Launch, 'cwd'>, first: StageId) {
  const { folder, repo } = installation;
  const name = (text: string) => text.replaceAll(' ', '-');
  const addWorktree = async (text: string): Promise<number> => {
    const begun = performance.now();
    await run('git', ['worktree', 'add', '--quiet', '-b', name(text), join(folder, name(text))], repo);
    return performance.now() - begun;
  };
  return {
    'git worktree add': addWorktree,
    async raw(text: string): Promise<number> {
      await addWorktree(text);
      const cwd = join(folder, name(text));
      const args = launch.args.map((arg) => arg.replaceAll(join(folder, 'data', 'worktrees', projectId, first), cwd));
      const request = { type: 'control_request', request_id: randomUUID(), request: { subtype: 'initialize' } };
      await sleep(QUIET_MS);
      const begun = performance.now();
      const child = spawn(launch.command, [...args, '--session-id', randomUUID()], {
        cwd,
        env: launch.env,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      const ended = once(child, 'exit');
      for (const line of [request, message(scriptOf(text))]) child.stdin.write(`${JSON.stringify(line)}\n`);
      const ms = (await isAsked(installation, text)) - begun;
      await sleep(QUIET_MS);
      child.stdin.end();
      await ended;
      return ms;
    },
  };
}
