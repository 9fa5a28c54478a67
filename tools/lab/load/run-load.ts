import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId, type StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { install, type Running } from '../../../e2e/support/callboard.ts';
import { partPid } from '../../../e2e/support/processes.ts';
import { areConsecutive, openSlowClient, type SlowClient, startReader } from './clients.ts';
import { type Sample, takeSample } from './samples.ts';

export interface LoadOptions {
  /** How much the session prints, in MB (of 1024 * 1024 bytes). */
  megabytes: number;
  megabytesPerSecond: number;
  /** The number of clients of the event stream that read; equally many stop reading. */
  clients: number;
  timeoutMs: number;
}

export interface LoadResult {
  samples: Sample[];
  seconds: number;
  /** Events that reached the reading clients. */
  events: number;
  /** Slow clients that were cut off. */
  cutOff: number;
  /** Everything that was missing, came twice, or was wrong, in words. */
  wrong: string[];
}

const TOKEN = 'a-token-for-the-time-of-the-test';
const SAMPLE_MS = 250;
const CHARS = 20_000;
const DELTA_CHARS = 1_000;
/** The approximate size of one text in the spool: its deltas, one line each, and then the whole. */
const TEXT_BYTES = CHARS * 2 + (CHARS / DELTA_CHARS) * 300;
const MB = 1024 * 1024;

/** One session prints without end; some clients read the results, some do not. Measures the resources that all of this uses. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const env = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };
  const installation = await install(env, undefined, true);
  const running = await installation.start();
  const signal = AbortSignal.timeout(options.timeoutMs);
  const done = new AbortController();
  const reading = AbortSignal.any([signal, done.signal]);
  const transports = Array.from({ length: options.clients + 1 }, () =>
    createHttpTransport({ origin: running.origin, token: TOKEN }),
  );
  const [transport] = transports;
  if (transport === undefined) throw new Error('unreachable');
  const slow: SlowClient[] = [];
  try {
    const stageId = await createStage(transport, options);
    const { seq: since } = await transport.command('get_board', {});
    for (let n = 0; n < options.clients; n++) slow.push(await openSlowClient(running.origin, TOKEN, stageId, since));
    for (const { pause } of slow) pause();
    const readers = await Promise.all(
      transports.slice(1).map(async (each) => {
        await each.command('watch', { stageIds: [stageId] });
        return startReader(each, since, reading);
      }),
    );
    const begun = performance.now();
    await transport.command('start_stage', { stageId });
    const session = { transport, stageId, signal };
    const samples = await sampleUntilIdle(session, installation.dataDir, running);
    const seconds = (performance.now() - begun) / 1_000;
    const { seq } = await transport.command('get_board', {});
    const wrong: string[] = [];
    for (const reader of readers) {
      while (reader.seq() < seq && reader.wrong.length === 0) await sleep(20, undefined, { signal });
      wrong.push(...reader.wrong);
    }
    const returned = await recover(transport, slow, { since, newest: seq }, reading);
    const { cutOff } = returned;
    return { samples, seconds, events: seq - since, cutOff, wrong: [...wrong, ...returned.wrong] };
  } finally {
    done.abort();
    for (const { close } of slow) close();
    await running.stop();
  }
}

async function createStage(transport: Transport, { megabytes, megabytesPerSecond }: LoadOptions): Promise<StageId> {
  const flood = {
    texts: Math.ceil((megabytes * MB) / TEXT_BYTES),
    chars: CHARS,
    deltaChars: DELTA_CHARS,
    bytesPerSecond: megabytesPerSecond * MB,
  };
  const { stage } = await transport.command('create_stage', {
    projectId: ProjectId.parse('shop'),
    title: 'Flood',
    prompt: prompt({ steps: [{ tools: [{ name: 'Flood', input: flood }] }, { text: 'Dry again.' }] }),
  });
  return stage.id;
}

async function sampleUntilIdle(
  { transport, stageId, signal }: { transport: Transport; stageId: StageId; signal: AbortSignal },
  dataDir: string,
  { supervisor: { pid = -1 } }: Running,
): Promise<Sample[]> {
  const orchestrator = await partPid(pid, 'orchestrator');
  const webServer = await partPid(pid, 'web server');
  if (orchestrator === null || webServer === null) throw new Error('a server is not there');
  const samples: Sample[] = [];
  for (;;) {
    // Asked first: the last sample is of a session that has printed everything.
    const { session } = await transport.command('get_session', { stageId });
    samples.push(await takeSample({ orchestrator, webServer }, dataDir));
    if (session.state === 'idle') return samples;
    await sleep(SAMPLE_MS, undefined, { signal });
  }
}

/**
 * Each client reads the rest of its stream, and then the missing events by replay: without a gap, and nothing twice.
 * @returns how many had been cut off, and what was wrong, in words
 */
async function recover(
  transport: Transport,
  clients: readonly SlowClient[],
  { since, newest }: { since: number; newest: number },
  signal: AbortSignal,
): Promise<{ cutOff: number; wrong: string[] }> {
  const wrong: string[] = [];
  let cutOff = 0;
  for (const client of clients) {
    const got = await client.rest(signal);
    if (got.length === 0 || got[0] !== since + 1 || !areConsecutive(got)) wrong.push(`a slow client got ${got}`);
    const last = got.at(-1) ?? since;
    if (last < newest) cutOff += 1;
    const reader = startReader(transport, last, signal);
    while (reader.seq() < newest && reader.wrong.length === 0) await sleep(20, undefined, { signal });
    wrong.push(...reader.wrong);
  }
  return { cutOff, wrong };
}
