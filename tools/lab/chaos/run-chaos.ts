import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId, type SessionView, type StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { onTestFinished } from 'vitest';
import type { AtEnd } from '../../../test-support/temporary-folder.ts';
import { type Account, account } from './account.ts';
import type { Losses } from './beyond-lease.ts';
import { createCuttingProxy } from './cutting-proxy.ts';
import { type Killed, kill, STANDBY_VICTIMS, type Target, type Victims } from './killer.ts';
import { leaveNothing } from './leave-nothing.ts';
import { waitForEachMachine } from './live-text.ts';
import { TOKEN } from './machine.ts';
import { checkOn, type Onlooker } from './onlooker.ts';
import { answerAll, atMost, insist, type Ledger, say } from './people.ts';
import { type Instance, openInstance } from './place.ts';
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
  victims: Victims;
  /** Whether the emulator runs in place of the real `claude`. */
  isEmulated: boolean;
  timeoutMs: number;
  /** How many machines share a store on PostgreSQL; null: one, with its store in a file. */
  sharedBy: number | null;
  /** For how long the database or a link to it is away at most. */
  outageMs: number;
}

export interface ChaosResult extends Account {
  killed: Killed;
  network: Instance['network'];
  decisions: number;
  messages: number;
  /** How often a stage was taken from a machine that was declared lost. */
  taken: number;
  /** Events that reached the onlookers, and what was wrong with them, in words. */
  events: number;
  wrongEvents: string[];
  /** Machines whose live text does not arrive everywhere once all is there again, in words. */
  unheard: string[];
  /** Connections, worktrees and sessions that were left behind, in words. */
  left: string[];
}

const PEOPLE = 12;
const MAX_PAUSE_MS = 900;
/** How many stages the onlookers watch, which has their live text sent from machine to machine. */
const MAX_WATCHED = 12;

/**
 * Lets people work at the board while parts of it are killed and connections are cut, and compares the ledger of what they
 * did with what the model was told, what the tools did, and what the event stream said.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { isEmulated, victims, kills: times, sharedBy, outageMs } = options;
  const random = createRandom(options.seed);
  const ends: Parameters<AtEnd>[0][] = [];
  onTestFinished(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const atEnd: AtEnd = (end) => void ends.push(end);
  const place = await openInstance({
    machines: sharedBy ?? 1,
    isShared: sharedBy !== null,
    isEmulated,
    random,
    atEnd,
    hasOwnNetworks: true,
    databaseSettings: [],
    hasStandby: victims.some((victim) => STANDBY_VICTIMS.some((one) => one === victim)),
  });
  const entries = await openEntries(place, random, atEnd);
  const failed = new AbortController();
  const signal = AbortSignal.any([AbortSignal.timeout(options.timeoutMs), failed.signal]);
  const done = new AbortController();
  atEnd(() => done.abort());
  const transport = atMost(PEOPLE, entries.transport);
  const ledger: Ledger = { decisions: new Map(), messages: [] };
  const onlookers = await checkEverywhere(place, entries, AbortSignal.any([signal, done.signal]));
  const answering = answerAll(transport, ledger, done.signal, signal);
  answering.catch((error: unknown) => failed.abort(error)); // without answers, nothing would come to rest
  const began = performance.now();
  // A run of hundreds of stages that ends before its time says how far it came.
  const reached = (what: string) => console.log(`${Math.round((performance.now() - began) / 1_000)} s: ${what}`);
  const stages = await startStages({ transport, random, signal }, options.stages, place);
  // A conversation with nothing on disk cannot be resumed: by now each one has had its first turn.
  const talkers = { transport, ledger, random, signal };
  for (const stageId of stages) await untilQuiet(talkers, stageId);
  reached('every stage has had its first turn');
  const watched = stages.slice(0, MAX_WATCHED);
  // Not through any web server in turn: only the one that has a stream can be told what it watches.
  for (const one of entries.each) await insist(signal, () => one.command('watch', { stageIds: watched }));
  const losses: Losses = new Map();
  const { transport: any, each } = entries;
  const target = {
    ...place,
    cutConnection: entries.cutOne,
    onMoved: entries.lead,
    transport: any,
    each,
  } satisfies Target;
  const killing = kill(target, { victims, losses, times, pauseMs: MAX_PAUSE_MS, outageMs, random, signal });
  const talking = Promise.all(stages.map((stageId) => talk(talkers, stageId, options.messages)));
  const [killed] = await Promise.all([killing, talking]);
  reached('all has been said and struck');
  for (const stageId of stages) await untilQuiet(talkers, stageId);
  reached('all is quiet');
  const unheard = await waitForEachMachine(talkers, onlookers.slice(-entries.each.length), watched);
  for (const stageId of watched) await untilQuiet(talkers, stageId);
  const alarms = await alarmsOf(transport, stages, signal);
  const wrongEvents = (await Promise.all(onlookers.map(({ compare }) => compare(signal)))).flat();
  reached('the onlookers have been compared');
  done.abort();
  await answering;
  const installations = place.machines.map(({ installation }) => installation);
  const runsMayBeMissing = victims.includes('claude');
  const accounted = await account({
    installations,
    transport,
    ledger,
    stages,
    isEmulated,
    signal,
    runsMayBeMissing,
    losses,
  });
  const result = {
    killed,
    network: place.network,
    decisions: ledger.decisions.size,
    messages: ledger.messages.length,
    taken: [...losses.values()].reduce((sum, times) => sum + times, 0),
    events: onlookers.reduce((sum, { events }) => sum + events(), 0),
    wrongEvents,
    unheard,
    ...accounted,
    lost: [...accounted.lost, ...alarms],
  };
  reached(`${result.lost.length} lost, ${result.doubled.length} doubled, ${wrongEvents.length} events wrong`);
  return { ...result, left: await leaveNothing(place, { transport, losses }, stages, signal) };
}

/** The ways of the people and the onlookers to the web servers. */
interface ProxyEntries {
  /** Through any web server, another one for each connection. */
  transport: Transport;
  /** Through the web server of each machine. */
  each: readonly Transport[];
  cutOne: () => boolean;
  /** Finds the web servers again. */
  lead: () => void;
}

async function openEntries({ machines }: Instance, random: Random, atEnd: AtEnd): Promise<ProxyEntries> {
  const open = async () => {
    const proxy = await createCuttingProxy(random);
    atEnd(proxy.close);
    return proxy;
  };
  const any = await open();
  const each = await Promise.all(machines.length > 1 ? machines.map(open) : []);
  const lead = () => {
    const [first, ...others] = machines;
    any.leadTo(first.entry(), ...others.map(({ entry }) => entry()));
    for (const [index, proxy] of each.entries()) proxy.leadTo((machines[index] ?? first).entry());
  };
  lead();
  const transportOf = ({ origin }: { origin: string }) => createHttpTransport({ origin, token: TOKEN });
  const cutOne = () => random.pick([any, any, ...each]).cutOne();
  return { transport: transportOf(any), each: each.map(transportOf), cutOne, lead };
}

function checkEverywhere({ database }: Instance, entries: ProxyEntries, signal: AbortSignal): Promise<Onlooker[]> {
  const mayResync = database !== null;
  return Promise.all([entries.transport, ...entries.each].map((transport) => checkOn(transport, signal, mayResync)));
}

/** Two of three stages are pinned, so that each machine has some; the others go where there is room. */
async function startStages(
  { transport, random, signal }: Omit<Talkers, 'ledger'>,
  count: number,
  { machines, database }: Instance,
): Promise<StageId[]> {
  const ids: StageId[] = [];
  for (let n = 0; n < count; n++) {
    const text = work(`S${n}-first`, random);
    const pin = database !== null && n % 3 !== 2 ? machines[n % machines.length]?.name : undefined;
    const wanted = { projectId: ProjectId.parse('shop'), title: `S${n}`, prompt: text, machine: pin };
    const { stage } = await insist(signal, () => transport.command('create_stage', wanted));
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
export interface Talkers {
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
async function untilQuiet({ transport, ledger, signal }: Talkers, stageId: StageId): Promise<void> {
  let last: SessionView | null = null;
  const whenAborted = () => console.error(`${stageId} did not come to rest: ${JSON.stringify(last)}`);
  signal.addEventListener('abort', whenAborted);
  for (;;) {
    const { session } = await insist(signal, () => transport.command('get_session', { stageId }));
    last = session;
    if (isQuiet(session)) return signal.removeEventListener('abort', whenAborted);
    if (session.state === 'idle' && session.queueHeld)
      await insist(signal, () => transport.command('release_queue', { stageId }));
    else if (isCutShort(session)) {
      const text = `Go on: <${stageId}-go-on-${ledger.messages.length}>`;
      await say(transport, ledger, { stageId, text, mode: 'append', hasRun: false }, signal);
    } else if (session.state === 'ended' || session.state === 'failed') await start(transport, stageId, signal);
    await sleep(100, undefined, { signal });
  }
}

/** An alarm is told of, and ends nothing by itself. */
const isQuiet = ({ alarm, state, queued, lastTurn }: SessionView): boolean =>
  alarm !== null || ((state === 'idle' || state === 'ended') && queued === 0 && lastTurn?.outcome === 'succeeded');

/** The turn was cut short after Claude had all its messages: a start resumes the conversation and begins no turn by itself. */
const isCutShort = ({ state, queued, lastTurn }: SessionView): boolean =>
  state === 'idle' && queued === 0 && lastTurn !== null && lastTurn.outcome !== 'succeeded';

/** The sessions that were stopped with an alarm, in words: an answer that Claude has had was lost, for example. */
async function alarmsOf(transport: Transport, stages: readonly StageId[], signal: AbortSignal): Promise<string[]> {
  const sessions = stages.map(async (stageId) => {
    const { session } = await insist(signal, () => transport.command('get_session', { stageId }));
    return session.alarm === null ? [] : [`${stageId} is under the alarm ${session.alarm.code}`];
  });
  return (await Promise.all(sessions)).flat();
}

async function start(transport: Transport, stageId: StageId, signal: AbortSignal): Promise<void> {
  await insist(signal, () => transport.command('start_stage', { stageId })).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!(error instanceof Error)) throw error; // refused: it runs already, or was killed again; the next check tells
  });
}
