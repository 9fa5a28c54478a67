import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId } from '@callboard/contract';
import { createHttpTransport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { it, onTestFinished } from 'vitest';
import { install } from '../../../e2e/support/callboard.ts';
import { openRawStream } from '../load/raw-stream.ts';
import { percentile } from './measure.ts';
import { report } from './results.ts';

const LINES = 600;
/** The first lines are a warm-up. */
const DROPPED = 20;
/** Not a multiple of any timer, so that each line falls at a different point of the timer's period. */
const PAUSE_MS = 37;
const TOKEN = 'a-token-for-the-benchmark';

const line = (n: number) => {
  const content = [{ type: 'text', text: `Line ${n}.` }];
  const message = { id: `msg_${n}`, type: 'message', role: 'assistant', model: 'emulated-model', content };
  return `${JSON.stringify({ type: 'assistant', message, parent_tool_use_id: null, uuid: randomUUID() })}\n`;
};

it('measures how long a line of Claude takes until its event reaches a client', async () => {
  const env = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };
  const installation = await install(env, onTestFinished, true);
  const running = await installation.start();
  onTestFinished(() => running.stop());
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const projectId = ProjectId.parse('shop');
  // The emulator is busy and prints nothing: the bench itself writes the lines into the spool, at a known moment.
  const hangs = prompt({ steps: [{ text: 'Working.', hangs: true }] });
  const { stage } = await transport.command('create_stage', { projectId, title: 'Lines', prompt: hangs });
  await transport.command('start_stage', { stageId: stage.id });
  while ((await transport.command('get_transcript', { stageId: stage.id })).total < 2) await sleep(50);

  let reported = () => undefined as unknown;
  const { seq } = await transport.command('get_board', {});
  const close = await openRawStream(running.origin, TOKEN, seq, ({ event }) => {
    if (event === 'transcript-appended') reported();
  });
  onTestFinished(close);
  const launches = join(installation.dataDir, 'sessions', stage.id);
  const [launch = ''] = await readdir(launches);
  const spool = join(launches, launch, 'out.jsonl');
  const took: number[] = [];
  for (let n = 0; n < LINES + DROPPED; n += 1) {
    const { promise, resolve } = Promise.withResolvers<number>();
    reported = () => resolve(performance.now());
    appendFileSync(spool, line(n));
    const writtenAt = performance.now();
    const ms = (await promise) - writtenAt;
    if (n >= DROPPED) took.push(ms);
    await sleep(PAUSE_MS);
  }
  report('line', [
    { name: 'line written -> event at a client, p50', value: percentile(took, 0.5), unit: 'ms', atMost: 2 },
    { name: 'line written -> event at a client, p99', value: percentile(took, 0.99), unit: 'ms', atMost: 8 },
  ]);
});
