import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Decision, MessageId, type PendingRequest, questionsOf, type StageId } from '@callboard/contract';
import { type ClientCommand, type Transport, TransportError } from '@callboard/contract/client';

/** What the people at the board did, as they know it: the ledger that everything is compared with in the end. */
export interface Ledger {
  /** By request id: what was asked, and what the server last said about the decision. */
  decisions: Map<string, { request: PendingRequest; decision: Decision }>;
  /** Messages that the server accepted. */
  messages: Said[];
}

/** A message, and whether it makes a tool run that writes the message's name down. */
export interface Said {
  stageId: StageId;
  text: string;
  /** `steer`: written into the running turn, if there is one. */
  mode: 'append' | 'steer';
  hasRun: boolean;
}

/** Errors after which the outcome is unknown, or nothing was done; for these actions retrying is safe. */
const passes = (error: unknown): boolean =>
  error instanceof TransportError &&
  (error.code === 'network' || error.code === 'unreadable' || [429, 500, 503].includes(error.status));

const PAUSE_MS = 50;

/** Retries until the server has answered, as a patient person does. */
export async function insist<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (!passes(error)) throw error;
      await sleep(PAUSE_MS, undefined, { signal });
    }
  }
}

/** This many people are at the board: each does one thing after another. */
export function atMost(people: number, transport: Transport): Transport {
  const waiting: (() => void)[] = [];
  let free = people;
  return {
    events: transport.events,
    async command<T extends ClientCommand>(...call: Parameters<typeof transport.command<T>>) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await transport.command<T>(...call);
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}

/** Answers every open request, over and over, until told to stop. */
export async function answerAll(
  transport: Transport,
  ledger: Ledger,
  stop: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const { pending } = await insist(signal, () => transport.command('get_pending', {}));
    await Promise.all(pending.map((request) => answerOne(transport, ledger, request, signal)));
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

async function answerOne(
  transport: Transport,
  ledger: Ledger,
  request: PendingRequest,
  signal: AbortSignal,
): Promise<void> {
  const note = (decision: Decision) => ledger.decisions.set(request.requestId, { request, decision });
  try {
    const reply = await insist(signal, () => answer(transport, request));
    if ('decision' in reply) note(reply.decision);
    else throw new Error('an answer without `hold` was held back');
  } catch (error) {
    // A lost reply: the answer had been accepted, and the retry learns that. Or the request was closed meanwhile.
    if (!(error instanceof TransportError) || error.decision === null) throw error;
    note(error.decision);
  }
}

function answer(transport: Transport, { stageId, requestId, kind, input }: PendingRequest) {
  if (kind !== 'question') return transport.command('approve_tool', { stageId, requestId, decision: 'allow' });
  const answers = Object.fromEntries(
    questionsOf(input).map(({ question, options }) => [question, options?.[0]?.label ?? 'yes']),
  );
  return transport.command('answer_question', { stageId, requestId, answers });
}

/** Sends a message once, however often its reply is lost: it carries an id from the sender. */
export async function say(transport: Transport, ledger: Ledger, said: Said, signal: AbortSignal): Promise<void> {
  const { stageId, text: message, mode } = said;
  const messageId = MessageId.parse(randomUUID());
  await insist(signal, () => transport.command('send_message', { stageId, message, mode, messageId }));
  ledger.messages.push(said);
}
