import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Decision, StageId } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import type { Installation } from '../../../e2e/support/callboard.ts';
import { emulatedConversations } from '../swarm/start-swarm.ts';
import type { Losses } from './beyond-lease.ts';
import { insist, type Ledger } from './people.ts';
import { inTrash, isOf, worktreesOf } from './worktrees.ts';

export interface Account {
  /** Decisions, messages or runs that cannot be found again, in words. */
  lost: string[];
  /** Messages told to the model more than once, and tools run more than once or without a yes, in words. */
  doubled: string[];
}

export interface AccountDeps {
  /** Of all machines. A stage has run on one of them. */
  installations: readonly Installation[];
  transport: Transport;
  ledger: Ledger;
  stages: readonly StageId[];
  isEmulated: boolean;
  /** A claude that is killed between the yes and the run loses the run; then the person sees "unknown". */
  runsMayBeMissing: boolean;
  /**
   * A lost machine's claude goes on with what it was told, while its messages are told anew elsewhere: then a message counts once for
   * each conversation, and a run for each worktree. Never twice in one.
   */
  losses: Losses;
  signal: AbortSignal;
}

/** Compares what people did with what the model was told, what the tools did, and what Callboard reports about it. */
export async function account(deps: AccountDeps): Promise<Account> {
  const { installations, ledger, stages, runsMayBeMissing, losses } = deps;
  const result: Account = { lost: [], doubled: [] };
  const emulated = deps.isEmulated ? await readEmulated(installations) : null;
  const decisions = await decisionLog(deps);
  for (const stageId of stages) {
    const lostTimes = losses.get(stageId) ?? 0;
    const count = createCount(result, 1 + lostTimes);
    const ran = await ranIn(installations, stageId);
    const said = ledger.messages.filter((message) => message.stageId === stageId);
    const names = said.map(({ text }) => nameIn(text));
    const heard =
      emulated?.(stageId, lostTimes > 0) ?? installations.map((one) => sentToModel(one, names, lostTimes > 0));
    for (const [index, name] of names.entries()) {
      count(
        `message ${name}`,
        heard.map((texts) => maxIn(texts, `<${name}>`)),
        false,
      );
      // Keeps the text before each occurrence, since a failing run is hard to repeat.
      for (const pieces of heard.flat().map((text) => text.split(`<${name}>`)))
        if (pieces.length > 2)
          result.doubled.push(...pieces.slice(0, -1).map((before) => `after: ${before.slice(-300)}`));
      const runs = ran.map((lines) => lines.filter((line) => line === name).length);
      if (said[index]?.hasRun === true) count(`run of ${name}`, runs, runsMayBeMissing || lostTimes > 0);
    }
    for (const name of new Set(ran.flat())) {
      if (name !== '' && !wasAllowed(name, ledger, decisions)) result.doubled.push(`run of ${name} without a yes`);
    }
  }
  accountDecisions(result, ledger, decisions);
  return result;
}

/** @param most at how many places something may be found; at each of them once */
function createCount(result: Account, most: number) {
  return (what: string, times: readonly number[], mayBeMissing: boolean) => {
    const all = times.reduce((sum, one) => sum + one, 0);
    if (all === 0 && !mayBeMissing) result.lost.push(what);
    if (all > most || times.some((one) => one > 1)) result.doubled.push(`${what} (${times.join(' + ')} times)`);
  };
}

function accountDecisions(result: Account, ledger: Ledger, decisions: readonly Decision[]): void {
  const count = createCount(result, 1);
  for (const [requestId, { decision: first }] of ledger.decisions) {
    const logged = decisions.filter((decision) => decision.requestId === requestId);
    count(`decision ${requestId}`, [logged.length], false);
    for (const { outcome, delivery } of logged) {
      if (outcome !== first.outcome) result.lost.push(`decision ${requestId}: ${first.outcome}, and now ${outcome}`);
      if (outcome !== 'closed' && (delivery === 'accepted' || delivery === 'written')) {
        result.lost.push(`decision ${requestId}: stored, and what became of it is not told (${delivery})`);
      }
    }
  }
}

/** How often a name occurs in the text that has it most often. */
const maxIn = (texts: readonly string[], name: string): number =>
  texts.reduce((most, text) => Math.max(most, text.split(name).length - 1), 0);

/** The names of all tool runs of a stage in each worktree that it has had, those in the trash included. */
async function ranIn(installations: readonly Installation[], stageId: StageId): Promise<string[][]> {
  const folders = await Promise.all(installations.map((one) => worktreesOf(one, stageId)));
  const texts = folders.flat().map((folder) => readFile(join(folder, 'ran.txt'), 'utf8').catch(() => ''));
  const taken = await Promise.all(installations.map((one) => inTrash(one, stageId, 'ran.txt')));
  return [...(await Promise.all(texts)), ...taken.flat()].map((text) => text.split('\n'));
}

const nameIn = (text: string): string => /<(.+)>/.exec(text)?.[1] ?? '';

/** A run needs a decision that allowed it and that Callboard does not report as not applied. */
function wasAllowed(name: string, { decisions }: Ledger, log: readonly Decision[]): boolean {
  return [...decisions].some(([requestId, { request }]) => {
    if (request.input.command !== `echo ${name} >> ran.txt`) return false;
    const logged = log.find((decision) => decision.requestId === requestId);
    return logged?.outcome === 'allowed' && logged.delivery !== 'not-applied';
  });
}

async function decisionLog({ transport, signal }: AccountDeps): Promise<Decision[]> {
  const all: Decision[] = [];
  for (let before: string | undefined; ; ) {
    const page = await insist(signal, () => transport.command('get_decisions', { limit: 500, before }));
    all.push(...page.decisions);
    if (page.next === null) return all;
    before = page.next;
  }
}

/**
 * The newest request that contains one of these messages contains the whole conversation.
 * @param isEach every such request, since there may have been several conversations
 */
function sentToModel({ model }: Installation, names: string[], isEach: boolean): string[] {
  const texts = model.requests.filter(({ subagent }) => !subagent).map(({ messages }) => JSON.stringify(messages));
  const reported = texts.filter((text) => names.some((name) => text.includes(`<${name}>`)));
  return isEach ? reported : reported.slice(-1);
}

async function readEmulated(installations: readonly Installation[]) {
  // There is no folder where no session has begun.
  const conversations = installations.map(({ home }) => emulatedConversations(home).catch(() => []));
  const all = await Promise.all(conversations);
  return (stageId: StageId, isEach: boolean): string[][] =>
    all.map((ofOne) => {
      const reported = ofOne.filter(({ cwd }) => isOf(basename(cwd), stageId)).map(({ texts }) => texts.join('\n'));
      return isEach ? reported : [reported.join('\n')];
    });
}
