import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId } from '@callboard/contract';
import { createHttpTransport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { it, onTestFinished } from 'vitest';
import { install } from '../../../e2e/support/callboard.ts';
import { claudePidOf, run } from '../../../e2e/support/processes.ts';
import { commitAll } from '../../../test-support/git.ts';
import { figures, percentile } from './measure.ts';
import { type Figure, report } from './results.ts';
import { message } from './turn/baselines.ts';
import { launchOf } from './turn/callboard.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 15);
/** The first rounds are a warm-up. */
const DROPPED = 2;
/** What a start leaves behind must not fall into the next one. */
const QUIET_MS = 1_600;
const TOKEN = 'a-token-for-the-benchmark';
const projectId = ProjectId.parse('shop');

it('measures from Start to the first request, beside the raw pipe, start by start', { timeout: 900_000 }, async () => {
  const figures: Figure[] = [];
  for (const files of [1, 5_000]) figures.push(...(await measure(files)));
  report('open', figures);
});

async function measure(files: number): Promise<Figure[]> {
  const installation = await install({ CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') });
  const { folder, repo, model } = installation;
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

  /** Resolves with the time at which the model is asked for the first time with this text. */
  async function asked(text: string): Promise<number> {
    await model.waitForRequest(({ kind, messages }) => kind === 'script' && JSON.stringify(messages).includes(text));
    return performance.now();
  }

  async function callboard(text: string) {
    const script = prompt({ steps: [{ text: 'Ready.' }] }, text);
    const { stage } = await transport.command('create_stage', { projectId, title: text, prompt: script });
    await sleep(QUIET_MS);
    const begun = performance.now();
    const [end] = await Promise.all([asked(text), transport.command('start_stage', { stageId: stage.id })]);
    const launch = await launchOf(await claudePidOf(folder, stage.id));
    await sleep(QUIET_MS);
    await transport.command('stop_stage', { stageId: stage.id });
    return { ms: end - begun, launch, stageId: stage.id };
  }

  const first = await callboard('the first one');
  const ours: number[] = [];
  const raw: number[] = [];
  const git: number[] = [];
  for (let round = 0; round < ROUNDS + DROPPED; round++) {
    const bare = async () => {
      const cwd = join(folder, `raw-${round}`);
      const begun = performance.now();
      await run('git', ['worktree', 'add', '--quiet', '-b', `raw-${round}`, cwd], repo);
      const gitMs = performance.now() - begun;
      await sleep(QUIET_MS);
      const text = `raw ${round} of ${files}`;
      const old = join(folder, 'data', 'worktrees', projectId, first.stageId);
      const args = first.launch.args.map((arg) => arg.replaceAll(old, cwd));
      const spawned = performance.now();
      const child = spawn(first.launch.command, [...args, '--session-id', randomUUID()], {
        cwd,
        env: first.launch.env,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      const request = { type: 'control_request', request_id: randomUUID(), request: { subtype: 'initialize' } };
      const script = prompt({ steps: [{ text: 'Ready.' }] }, text);
      for (const line of [request, message(script)]) child.stdin.write(`${JSON.stringify(line)}\n`);
      const ms = (await asked(text)) - spawned;
      const ended = once(child, 'exit');
      await sleep(QUIET_MS);
      child.stdin.end();
      await ended;
      if (round < DROPPED) return;
      raw.push(ms);
      git.push(gitMs);
    };
    const ofStage = async () => {
      const { ms } = await callboard(`stage ${round} of ${files}`);
      if (round >= DROPPED) ours.push(ms);
    };
    for (const one of round % 2 === 0 ? [ofStage, bare] : [bare, ofStage]) await one();
  }
  await running.stop();
  await installation.command('down');
  const [ms, bareMs, gitMs] = [ours, raw, git].map((times) => figures(times).medianMs) as [number, number, number];
  const what = files === 1 ? 'a small repository' : `${files.toLocaleString('en')} files`;
  const baseline = `raw pipe ${bareMs.toFixed(0)} ms, Callboard ${ms.toFixed(0)}, p90 ${percentile(ours, 0.9).toFixed(0)}`;
  return [
    { name: `Start to the first request, new worktree, ${what}`, value: ms / bareMs, unit: 'x', atMost: 1.3, baseline },
    {
      name: `the same, and git worktree add before the raw pipe, ${what}`,
      value: ms / (bareMs + gitMs),
      unit: 'x',
      baseline: `git worktree add ${gitMs.toFixed(0)} ms`,
    },
  ];
}
