import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId, type StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { type Installation, install } from '../support/callboard.ts';
import { kill, type Victim } from './killer.ts';
import { answerAll, insist, type Ledger, say } from './people.ts';
import { createRandom, type Random } from './random.ts';

export interface ChaosOptions {
  seed: number;
  stages: number;
  /** Messages a stage is sent besides its prompt; each asks for one tool call, and some for a question as well. */
  messages: number;
  kills: number;
  victims: readonly [Victim, ...Victim[]];
  timeoutMs: number;
}

export interface ChaosResult {
  killed: Record<Victim, number>;
  decisions: number;
  messages: number;
  /** What was decided, said or run and cannot be found again, in words. */
  lost: string[];
  /** What was told to the model or run more than once, in words. */
  doubled: string[];
}

const TOKEN = 'a-token-for-the-time-of-the-test';

/**
 * Lets people work at the board while parts of it are killed, and holds the ledger of what they did against what the
 * model was told and what the tools did.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const random = createRandom(options.seed);
  const installation = await install({ CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') });
  const running = await installation.start();
  const signal = AbortSignal.timeout(options.timeoutMs);
  const done = new AbortController();
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const ledger: Ledger = { decisions: new Map(), messages: [] };
  try {
    const answering = answerAll(transport, ledger, done.signal, signal);
    answering.catch(() => undefined); // awaited at the end, unless something else fails first
    const stages = await startStages(transport, options.stages, random, signal);
    // A conversation of which nothing is on disk yet cannot be resumed: every one has had its first turn by now.
    for (const stageId of stages) await untilQuiet(transport, stageId, signal);
    const killing = kill(installation.folder, running.supervisor.pid ?? -1, {
      victims: options.victims,
      times: options.kills,
      random,
      signal,
    });
    await Promise.all(stages.map((stageId) => talk(transport, ledger, stageId, options.messages, random, signal)));
    const killed = await killing;
    for (const stageId of stages) await untilQuiet(transport, stageId, signal);
    done.abort();
    await answering;
    return { killed, ...(await account(installation, ledger, stages, options)) };
  } finally {
    done.abort();
    await running.stop();
  }
}

async function startStages(
  transport: Transport,
  count: number,
  random: Random,
  signal: AbortSignal,
): Promise<StageId[]> {
  const ids: StageId[] = [];
  for (let n = 0; n < count; n++) {
    const text = work(`S${n}-first`, random);
    const { stage } = await transport.command('create_stage', {
      projectId: ProjectId.parse('shop'),
      title: `S${n}`,
      prompt: text,
    });
    await insist(signal, () => transport.command('start_stage', { stageId: stage.id }));
    ids.push(stage.id);
  }
  return ids;
}

/** A message that has one tool run, which writes the message's name into a file; every third asks a question too. */
function work(name: string, random: Random): string {
  const run = { name: 'Bash', input: { command: `echo ${name} >> ran.txt`, description: `Note ${name}` } };
  const options = ['A', 'B'].map((label) => ({ label, description: label }));
  const ask = {
    name: 'AskUserQuestion',
    input: { questions: [{ question: `Which for ${name}?`, header: 'Which', options, multiSelect: false }] },
  };
  const steps = random.between(1, 3) === 1 ? [{ tools: [ask] }, { tools: [run] }] : [{ tools: [run] }];
  return prompt({ steps: [...steps, { text: `done ${name}` }] }, `<${name}>`);
}

async function talk(
  transport: Transport,
  ledger: Ledger,
  stageId: StageId,
  count: number,
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  for (let n = 0; n < count; n++) {
    await say(transport, ledger, stageId, work(`${stageId}-m${n}`, random), signal);
    await sleep(random.between(0, 400), undefined, { signal });
  }
}

/** Waits until nothing is left to do for the stage; continues a session that was cut off, as a person would. */
async function untilQuiet(transport: Transport, stageId: StageId, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { session } = await insist(signal, () => transport.command('get_session', { stageId }));
    const isOver = session.state === 'idle' || session.state === 'ended';
    if (isOver && session.queued === 0 && session.lastTurn?.outcome === 'succeeded') return;
    if (session.state === 'idle' && session.queueHeld)
      await insist(signal, () => transport.command('release_queue', { stageId }));
    else if (session.state === 'ended' || session.state === 'failed') await goOn(transport, stageId, signal);
    await sleep(100, undefined, { signal });
  }
}

async function goOn(transport: Transport, stageId: StageId, signal: AbortSignal): Promise<void> {
  await insist(signal, () => transport.command('start_stage', { stageId })).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!(error instanceof Error)) throw error; // refused: it runs already, or was killed again; the next look tells
  });
}

async function account(
  { dataDir, model }: Installation,
  ledger: Ledger,
  stages: readonly StageId[],
  { victims }: ChaosOptions,
): Promise<Omit<ChaosResult, 'killed'>> {
  const lost: string[] = [];
  const doubled: string[] = [];
  const count = (what: string, times: number, mayBeMissing: boolean) => {
    if (times === 0 && !mayBeMissing) lost.push(what);
    if (times > 1) doubled.push(`${what} (${times} times)`);
  };
  for (const stageId of stages) {
    const ran = (await readFile(join(dataDir, 'worktrees', 'shop', stageId, 'ran.txt'), 'utf8').catch(() => '')).split(
      '\n',
    );
    const said = ledger.messages.filter((message) => message.stageId === stageId);
    const names = said.map(({ text }) => /<(.+)>/.exec(text)?.[1] ?? '');
    const last = model.requests.findLast(
      (request) => !request.subagent && names.some((name) => JSON.stringify(request.messages).includes(`<${name}>`)),
    );
    const told = JSON.stringify(last?.messages ?? []);
    for (const name of names) {
      count(`message ${name}`, told.split(`<${name}>`).length - 1, false);
      // A claude that is killed between the yes and the run takes the run with it; then the person is told "unknown".
      count(`run of ${name}`, ran.filter((line) => line === name).length, victims.includes('claude'));
    }
  }
  for (const [requestId, { outcome, delivery }] of ledger.decisions) {
    if (outcome !== 'closed' && delivery === 'accepted') lost.push(`decision ${requestId}: stored and never delivered`);
  }
  return { decisions: ledger.decisions.size, messages: ledger.messages.length, lost, doubled };
}
