import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ProjectId, type StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Installation, install } from '../../../e2e/support/callboard.ts';
import { claudePidOf, run } from '../../../e2e/support/processes.ts';
import { openRawStream } from '../load/raw-stream.ts';
import { figures } from './measure.ts';
import { report } from './results.ts';
import type { Launch } from './turn/baselines.ts';
import { launchOf } from './turn/callboard.ts';

const SESSIONS = 20;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 4);
const TOKEN = 'a-token-for-the-benchmark';
const script = prompt({ steps: [{ text: 'Ready.' }] });
const Turned = z.looseObject({
  stageId: z.string(),
  state: z.string(),
  lastTurn: z.looseObject({ at: z.string() }).nullable(),
});

/** Twenty sessions of one kind. */
interface ManyStages {
  /** Runs a turn in all of them, from no process to its end; resolves with how long that took, in ms. */
  turn(): Promise<number>;
  /** Ends their processes. */
  end(): Promise<void>;
}

it(`starts ${SESSIONS} sessions at once, beside as many raw processes`, { timeout: 900_000 }, async () => {
  const installation = await install({ CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') });
  const running = await installation.start();
  onTestFinished(() => running.stop());
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const callboard = await callboardCrowd(transport, running.origin);
  const firstOfCallboard = await callboard.turn();
  const launch = await launchOf(await claudePidOf(installation.folder, callboard.stageIds[0] ?? ''));
  await callboard.end();
  const raw = rawCrowd(installation, launch, callboard.stageIds[0] ?? '');
  const firstRaw = await raw.turn();
  await raw.end();

  const ours = { manyStages: callboard, times: [] as number[] };
  const bare = { manyStages: raw, times: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const { manyStages, times } of round % 2 === 0 ? [ours, bare] : [bare, ours]) {
      times.push(await manyStages.turn());
      await manyStages.end();
    }
  }
  const [ourMs, bareMs] = [figures(ours.times).medianMs, figures(bare.times).medianMs];
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`;
  report('at-once', [
    {
      name: `${SESSIONS} sessions started at once, worktrees there`,
      value: ourMs / bareMs,
      unit: 'x',
      atMost: 1.1,
      baseline: `${SESSIONS} raw processes with the same flags ${seconds(bareMs)}, Callboard ${seconds(ourMs)}`,
    },
    {
      name: `${SESSIONS} sessions started at once, worktrees to be made`,
      value: firstOfCallboard / firstRaw,
      unit: 'x',
      baseline: `once: git and raw processes ${seconds(firstRaw)}, Callboard ${seconds(firstOfCallboard)}`,
    },
  ]);
});

/** Stages of Callboard. The first turn creates their worktrees; each later turn continues the conversation. */
async function callboardCrowd(transport: Transport, origin: string): Promise<ManyStages & { stageIds: StageId[] }> {
  const stageIds: StageId[] = [];
  const made = { projectId: ProjectId.parse('shop'), title: 'Starts', prompt: script };
  for (let n = 0; n < SESSIONS; n++) stageIds.push((await transport.command('create_stage', made)).stage.id);
  const lastTurns = new Map<string, string>();
  let waiting = new Set<string>();
  let allDone: () => void = () => undefined;
  const { seq } = await transport.command('get_board', {});
  const close = await openRawStream(origin, TOKEN, seq, ({ event, data }) => {
    if (event !== 'session-updated') return;
    const { stageId, state, lastTurn } = Turned.parse(JSON.parse(data));
    if (state !== 'idle' || lastTurn === null || lastTurns.get(stageId) === lastTurn.at) return;
    lastTurns.set(stageId, lastTurn.at);
    if (waiting.delete(stageId) && waiting.size === 0) allDone();
  });
  onTestFinished(close);
  let isFirst = true;
  return {
    stageIds,
    async turn() {
      waiting = new Set(stageIds);
      const done = new Promise<void>((resolve) => {
        allDone = resolve;
      });
      const begun = performance.now();
      const begin = (stageId: StageId) =>
        isFirst
          ? transport.command('start_stage', { stageId })
          : transport.command('send_message', { stageId, message: script });
      await Promise.all([...stageIds.map(begin), done]);
      isFirst = false;
      return performance.now() - begun;
    },
    end: async () => void (await Promise.all(stageIds.map((stageId) => transport.command('stop_stage', { stageId })))),
  };
}

/** Processes with nothing in between, started as Callboard starts its own, each with a worktree and a conversation. */
function rawCrowd({ folder, repo }: Installation, launch: Omit<Launch, 'cwd'>, stageId: string): ManyStages {
  const sessions = Array.from({ length: SESSIONS }, (_, n) => ({ id: randomUUID(), cwd: join(folder, `raw-${n}`) }));
  let children: ReturnType<typeof spawn>[] = [];
  let isFirst = true;
  const turnIn = async ({ id, cwd }: (typeof sessions)[number]) => {
    const own = launch.args.map((arg) => arg.replaceAll(join(folder, 'data', 'worktrees', 'shop', stageId), cwd));
    const child = spawn(launch.command, [...own, isFirst ? '--session-id' : '--resume', id], {
      cwd,
      env: launch.env,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    children.push(child);
    const request = { type: 'control_request', request_id: randomUUID(), request: { subtype: 'initialize' } };
    const message = { type: 'user', uuid: randomUUID(), message: { role: 'user', content: script } };
    child.stdin.write(`${JSON.stringify(request)}\n${JSON.stringify(message)}\n`);
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('"type":"result"')) return;
    throw new Error('a raw process ended without a result');
  };
  return {
    async turn() {
      const begun = performance.now();
      // One after another, because git requires it.
      for (const [n, { cwd }] of isFirst ? sessions.entries() : [])
        await run('git', ['worktree', 'add', '--quiet', '-b', `raw-${n}`, cwd], repo);
      await Promise.all(sessions.map(turnIn));
      isFirst = false;
      return performance.now() - begun;
    },
    async end() {
      const ended = children.map((child) => once(child, 'exit'));
      for (const child of children) child.stdin?.end(); // its children end with it
      await Promise.all(ended);
      children = [];
    },
  };
}
