import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Decision, StageId } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { emulatedConversations } from '@callboard/scripted-model';
import type { Installation } from '../support/callboard.ts';
import { insist, type Ledger } from './people.ts';

export interface Account {
  /** Decisions, messages or runs that cannot be found again, in words. */
  lost: string[];
  /** Messages told to the model more than once, and tools run more than once or without a yes, in words. */
  doubled: string[];
}

export interface AccountParts {
  /** Of all machines. A stage has run on one of them. */
  installations: readonly Installation[];
  transport: Transport;
  ledger: Ledger;
  stages: readonly StageId[];
  isEmulated: boolean;
  /** A claude that is killed between the yes and the run loses the run; then the person sees "unknown". */
  runsMayBeMissing: boolean;
  signal: AbortSignal;
}

/** Compares what people did with what the model was told, what the tools did, and what Callboard reports about it. */
export async function account(parts: AccountParts): Promise<Account> {
  const { installations, ledger, stages, runsMayBeMissing } = parts;
  const result: Account = { lost: [], doubled: [] };
  const told = parts.isEmulated
    ? await toldToEmulators(installations)
    : (names: string[]) => installations.map((one) => toldToModel(one, names)).join('\n');
  const count = (what: string, times: number, mayBeMissing: boolean) => {
    if (times === 0 && !mayBeMissing) result.lost.push(what);
    if (times > 1) result.doubled.push(`${what} (${times} times)`);
  };
  const decisions = await decisionLog(parts);
  for (const stageId of stages) {
    const ran = await ranIn(installations, stageId);
    const said = ledger.messages.filter((message) => message.stageId === stageId);
    const names = said.map(({ text }) => nameIn(text));
    const heard = told(names, stageId);
    for (const [index, name] of names.entries()) {
      const pieces = heard.split(`<${name}>`);
      count(`message ${name}`, pieces.length - 1, false);
      // Keeps the text before each occurrence, since a failing run is hard to repeat.
      if (pieces.length > 2)
        result.doubled.push(...pieces.slice(0, -1).map((before) => `after: ${before.slice(-300)}`));
      const runs = ran.filter((line) => line === name).length;
      if (said[index]?.hasRun === true) count(`run of ${name}`, runs, runsMayBeMissing);
    }
    for (const name of new Set(ran)) {
      if (name !== '' && !wasAllowed(name, ledger, decisions)) result.doubled.push(`run of ${name} without a yes`);
    }
  }
  for (const [requestId, { decision: first }] of ledger.decisions) {
    const logged = decisions.filter((decision) => decision.requestId === requestId);
    count(`decision ${requestId}`, logged.length, false);
    for (const { outcome, delivery } of logged) {
      if (outcome !== first.outcome) result.lost.push(`decision ${requestId}: ${first.outcome}, and now ${outcome}`);
      if (outcome !== 'closed' && (delivery === 'accepted' || delivery === 'written')) {
        result.lost.push(`decision ${requestId}: stored, and what became of it is not told (${delivery})`);
      }
    }
  }
  return result;
}

/** The names of all tool runs of a stage. */
async function ranIn(installations: readonly Installation[], stageId: StageId): Promise<string[]> {
  const texts = installations.map(({ dataDir }) =>
    readFile(join(dataDir, 'worktrees', 'shop', stageId, 'ran.txt'), 'utf8').catch(() => ''),
  );
  return (await Promise.all(texts)).flatMap((text) => text.split('\n'));
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

async function decisionLog({ transport, signal }: AccountParts): Promise<Decision[]> {
  const all: Decision[] = [];
  for (let before: string | undefined; ; ) {
    const page = await insist(signal, () => transport.command('get_decisions', { limit: 500, before }));
    all.push(...page.decisions);
    if (page.next === null) return all;
    before = page.next;
  }
}

/** The newest request that contains one of these messages contains the whole conversation. */
function toldToModel({ model }: Installation, names: string[]): string {
  const last = model.requests.findLast(
    (request) => !request.subagent && names.some((name) => JSON.stringify(request.messages).includes(`<${name}>`)),
  );
  return JSON.stringify(last?.messages ?? []);
}

async function toldToEmulators(installations: readonly Installation[]) {
  // There is no folder where no session has begun.
  const conversations = installations.map(({ home }) => emulatedConversations(home).catch(() => []));
  const all = (await Promise.all(conversations)).flat();
  return (_names: string[], stageId: StageId): string =>
    all
      .filter(({ cwd }) => basename(cwd) === stageId)
      .flatMap(({ texts }) => texts)
      .join('\n');
}
