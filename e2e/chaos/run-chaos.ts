import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ProjectId, type StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { install } from '../support/callboard.ts';
import { type Account, account } from './account.ts';
import { createCuttingProxy } from './cutting-proxy.ts';
import { kill, type Victim } from './killer.ts';
import { lookOn } from './onlooker.ts';
import { answerAll, atMost, insist, type Ledger, say } from './people.ts';
import { createRandom, type Random } from './random.ts';

export interface ChaosOptions {
  seed: number;
  stages: number;
  /**
   * Messages a stage gets besides its prompt: most ask for one tool call, and some of those for a question as well; the
   * others are remarks.
   */
  messages: number;
  kills: number;
  victims: readonly [Victim, ...Victim[]];
  /** Whether the emulator runs in place of the real `claude`. */
  isEmulated: boolean;
  timeoutMs: number;
}

export interface ChaosResult extends Account {
  killed: Record<Victim, number>;
  decisions: number;
  messages: number;
  /** Events that reached the onlooker, and what was wrong with them, in words. */
  events: number;
  wrongEvents: string[];
}

const TOKEN = 'a-token-for-the-time-of-the-test';
const PEOPLE = 12;
const LONGEST_PAUSE_MS = 900;

/**
 * Lets people work at the board while parts of it are killed and connections are cut, and compares the ledger of what they
 * did with what the model was told, what the tools did, and what the event stream said.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { isEmulated, victims, kills: times } = options;
  const random = createRandom(options.seed);
  const cutSockets = fileURLToPath(new URL('cut-sockets.ts', import.meta.url));
  const env = {
    CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex'),
    NODE_OPTIONS: `--import ${cutSockets}`,
  };
  const installation = await install(env, undefined, isEmulated);
  const proxy = await createCuttingProxy(random);
  let running = await installation.start();
  const lead = () => proxy.leadTo(Number(new URL(running.origin).port));
  lead();
  const signal = AbortSignal.timeout(options.timeoutMs);
  const done = new AbortController();
  const direct = createHttpTransport({ origin: proxy.origin, token: TOKEN });
  const transport = atMost(PEOPLE, direct);
  const ledger: Ledger = { decisions: new Map(), messages: [] };
  try {
    const onlooker = await lookOn(direct, AbortSignal.any([signal, done.signal]));
    const answering = answerAll(transport, ledger, done.signal, signal);
    answering.catch(() => undefined); // awaited at the end, unless something else fails first
    const stages = await startStages(transport, options.stages, random, signal);
    // A conversation with nothing on disk cannot be resumed: by now each one has had its first turn.
    for (const stageId of stages) await untilQuiet(transport, stageId, signal);
    const target = {
      folder: installation.folder,
      startedPid: () => running.supervisor.pid ?? -1,
      startAgain: async () => {
        running = await installation.start();
        lead();
      },
      cutConnection: proxy.cutOne,
    };
    const killing = kill(target, { victims, times, pauseMs: LONGEST_PAUSE_MS, random, signal });
    const talkers = { transport, ledger, random, signal };
    await Promise.all(stages.map((stageId) => talk(talkers, stageId, options.messages)));
    const killed = await killing;
    for (const stageId of stages) await untilQuiet(transport, stageId, signal);
    const wrongEvents = await onlooker.compare(signal);
    done.abort();
    await answering;
    const parts = { installation, transport, ledger, stages, isEmulated, signal };
    return {
      killed,
      decisions: ledger.decisions.size,
      messages: ledger.messages.length,
      events: onlooker.events(),
      wrongEvents,
      ...(await account({ ...parts, runsMayBeMissing: victims.includes('claude') })),
    };
  } finally {
    done.abort();
    await running.stop();
    await proxy.close();
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
    const { stage } = await insist(signal, () =>
      transport.command('create_stage', { projectId: ProjectId.parse('shop'), title: `S${n}`, prompt: text }),
    );
    await start(transport, stage.id, signal);
    ids.push(stage.id);
  }
  return ids;
}

/** A message that makes one tool run, which writes the message's name into a file; every third asks a question too. */
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

/** Who talks, where they record it, and until when. */
interface Talkers {
  transport: Transport;
  ledger: Ledger;
  random: Random;
  signal: AbortSignal;
}

/** Sends a stage its messages, at random moments. */
async function talk({ transport, ledger, random, signal }: Talkers, stageId: StageId, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const name = `${stageId}-m${n}`;
    // Every fourth is a remark that is written into the running turn.
    const isRemark = random.between(1, 4) === 1;
    const said = isRemark
      ? ({ stageId, text: `By the way: <${name}>`, mode: 'steer', hasRun: false } as const)
      : ({ stageId, text: work(name, random), mode: 'append', hasRun: true } as const);
    await say(transport, ledger, said, signal);
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
    else if (session.state === 'ended' || session.state === 'failed') await start(transport, stageId, signal);
    await sleep(100, undefined, { signal });
  }
}

async function start(transport: Transport, stageId: StageId, signal: AbortSignal): Promise<void> {
  await insist(signal, () => transport.command('start_stage', { stageId })).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!(error instanceof Error)) throw error; // refused: it runs already, or was killed again; the next check tells
  });
}
