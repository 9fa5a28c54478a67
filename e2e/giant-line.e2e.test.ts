import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId, type StageId } from '@callboard/contract';
import { createHttpTransport, type Transport, TransportError } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { startReader } from '../tools/lab/load/clients.ts';
import { openBrowser } from './support/browser.ts';
import { install } from './support/callboard.ts';
import { partPid, waitedForCpu } from './support/processes.ts';

const TOKEN = 'a-token-for-the-time-of-the-test';
const LINE = 50_000_000;
/** Thousands of lines in one read. */
const LINES = 30_000;
/** How long an answer in another session may take meanwhile, not counting the time in which a busy machine has no CPU to spare. */
const PATIENCE_MS = 5_000;
const MB = 1024 * 1024;

const ask = (n: number) => ({ name: 'Bash', input: { command: `touch f${n}`, description: 'Touch' } });

it('reads lines of 50 MB while it keeps answering other sessions', { timeout: 480_000 }, async () => {
  const env = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };
  const installation = await install(env, undefined, true);
  const running = await installation.start();
  onTestFinished(running.stop);
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const done = new AbortController();
  onTestFinished(() => done.abort());

  const other = await createStage(
    transport,
    Array.from({ length: 200 }, (_, n) => ({ tools: [ask(n)] })),
  );
  const flood = (input: Record<string, number>) => ({ tools: [{ name: 'Flood', input }] });
  const giant = await createStage(transport, [
    flood({ texts: 1, chars: LINE }), // a text, streamed in one piece and then whole
    flood({ resultChars: LINE }),
    flood({ texts: LINES, chars: 60 }),
    { text: 'After all of it.' },
  ]);
  const { seq } = await transport.command('get_board', {});
  await transport.command('watch', { stageIds: [giant] });
  const reader = startReader(transport, seq, done.signal);
  await transport.command('start_stage', { stageId: other });

  const top = running.supervisor.pid ?? -1;
  const parts = [process.pid, await partPid(top, 'orchestrator'), await partPid(top, 'web server')];
  /** The elapsed time, minus the time for which the processes involved in an answer waited for a CPU. */
  async function clock(): Promise<number> {
    const waits = await Promise.all(parts.map((pid) => waitedForCpu(pid ?? -1)));
    return performance.now() - waits.reduce((total, ms) => total + ms, 0);
  }
  let slowest = 0;
  let answers = 0;
  async function timed<T>(answer: () => Promise<T>): Promise<T> {
    const begun = await clock();
    const answered = await answer();
    slowest = Math.max(slowest, (await clock()) - begun);
    return answered;
  }
  async function answerAll(): Promise<void> {
    const { pending } = await timed(() => read(() => transport.command('get_pending', { stageId: other })));
    for (const { requestId, stageId } of pending) {
      const allow = () => transport.command('approve_tool', { stageId, requestId, decision: 'allow' });
      expect(await timed(allow)).toMatchObject({ decision: { outcome: 'allowed' } });
      answers += 1;
    }
    await sleep(5); // the requests of one script come one after another
  }
  while (answers === 0) await answerAll();
  await transport.command('start_stage', { stageId: giant });
  while ((await stateOf(transport, giant)) !== 'idle') await answerAll();
  console.table({ answers, 'slowest answer meanwhile, ms': Math.round(slowest) });
  expect(answers).toBeGreaterThan(4);
  expect(slowest).toBeLessThan(PATIENCE_MS);

  // The stored lines are shortened and say so; a page of them stays small.
  const newest = await transport.command('get_transcript', { stageId: giant, limit: 1_000 });
  expect(newest.entries.at(-2)).toMatchObject({ kind: 'text', text: 'After all of it.' });
  const shortened: string[] = [];
  for (let after = 0; after < 100; ) {
    const page = await transport.command('get_transcript', { stageId: giant, after, limit: 1_000 });
    expect(JSON.stringify(page).length).toBeLessThan(4 * MB);
    const cut = page.entries.filter((entry) => /characters omitted/.test(JSON.stringify(entry)));
    shortened.push(...cut.map(({ kind }) => kind));
    after = page.entries.at(-1)?.index ?? 100;
  }
  expect(shortened).toEqual(['text', 'tool-result']);
  expect(newest.total).toBeGreaterThan(LINES);

  // A watching client received everything, once, and the page can be opened.
  const board = await transport.command('get_board', {});
  await expect.poll(() => reader.seq()).toBeGreaterThanOrEqual(board.seq);
  expect(reader.wrong).toEqual([]);
  const { page, errors } = await openBrowser();
  await page.goto(running.loginLink);
  await page.goto(`${running.origin}/stages/${giant}`);
  await page.getByText('After all of it.').first().waitFor();
  expect(errors).toEqual([]);
});

/** Asks again, as a page does: where the machine has no CPU to spare, the web server gives up a read after 5 s. */
async function read<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof TransportError) || !error.isTransient) throw error;
    }
  }
}

async function createStage(transport: Transport, steps: Parameters<typeof prompt>[0]['steps']): Promise<StageId> {
  const fields = { projectId: ProjectId.parse('shop'), title: 'A stage', prompt: prompt({ steps }) };
  return (await transport.command('create_stage', fields)).stage.id;
}

const stateOf = async (transport: Transport, stageId: StageId) =>
  (await read(() => transport.command('get_session', { stageId }))).session.state;
