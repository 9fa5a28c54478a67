import { fieldsOf, type PendingRequest, questionsOf } from '@callboard/contract';
import { type Transport, TransportError } from '@callboard/contract/client';
import { UsageError } from '../../errors.ts';
import { sendAnswer } from '../answer.ts';
import { answerOf, fieldValueOf } from '../answers.ts';
import { allowing, idsOf, needsAnswer } from '../decide.ts';
import { visibleLine } from '../text.ts';

export interface KeyDeps {
  readonly api: Transport;
  /** Has the person type a line; null if they go back. */
  readonly ask: (prompt: string) => Promise<string | null>;
  readonly say: (line: string) => void;
}

/** Returns what the keys do with a request, for the line below it. */
export function keysFor(request: PendingRequest): string {
  if (needsAnswer(request)) return 'r answer · d decline · m message · Ctrl-C leave';
  if (request.kind === 'plan')
    return 'a accept, then ask for each edit · e accept, then edit freely · d send back · m message · Ctrl-C leave';
  return 'a allow · d deny · m message · Ctrl-C leave';
}

/** Whether a key decides a request, or begins to. */
export const isDeciding = (key: string, request: PendingRequest): boolean =>
  key === 'd' || (needsAnswer(request) ? key === 'r' : key === 'a' || (key === 'e' && request.kind === 'plan'));

/**
 * Does what a key stands for. Resolves with whether an answer was accepted; says why not, otherwise.
 * @throws whatever is no refusal of the API
 */
export async function decideByKey(key: string, request: PendingRequest, deps: KeyDeps): Promise<boolean> {
  try {
    if (key === 'r') return await answerByKeys(request, deps);
    if (key === 'd') return await denyByKeys(request, deps);
    deps.say('Sending...');
    const mode = key === 'e' ? 'acceptEdits' : 'default';
    await deps.api.command('approve_tool', { ...idsOf(request), ...allowing(request, mode) });
    return true;
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    deps.say(visibleLine(error.message, 'prose'));
    return false;
  }
}

async function denyByKeys(request: PendingRequest, { api, ask, say }: KeyDeps): Promise<boolean> {
  const what = request.kind === 'plan' ? 'What should change?' : 'Tell Claude why (optional).';
  const reason = await ask(`${what} Enter sends, Esc goes back: `);
  if (reason === null) return false;
  say('Sending...');
  const text = reason.trim() === '' ? {} : { reason };
  await api.command('approve_tool', { ...idsOf(request), decision: 'deny', ...text });
  return true;
}

async function answerByKeys(request: PendingRequest, deps: KeyDeps): Promise<boolean> {
  const texts: string[] = [];
  for (const { prompt, check, toText } of fieldsToAsk(request)) {
    const text = await askUntilRight(prompt, check, deps);
    if (text === null) return false;
    texts.push(...toText(text));
  }
  deps.say('Sending...');
  await sendAnswer(deps.api, request, texts);
  return true;
}

interface Asked {
  readonly prompt: string;
  /** @throws UsageError */
  readonly check: (text: string) => void;
  readonly toText: (text: string) => string[];
}

function fieldsToAsk(request: PendingRequest): Asked[] {
  if (request.kind !== 'elicitation') {
    return questionsOf(request.input).map((question, index) => ({
      prompt: `Answer ${index + 1} (number, label or words): `,
      check: (text) => void answerOf(question, text),
      toText: (text) => [text],
    }));
  }
  return fieldsOf(request.input).map((field) => ({
    prompt: `${visibleLine(field.name, 'prose')}${field.required ? '' : ' (optional)'}: `,
    check: (text) => {
      if (text.trim() !== '') fieldValueOf(field, text);
      else if (field.required) throw new UsageError(`${field.name} is required.`);
    },
    toText: (text) => (text.trim() === '' ? [] : [`${field.name}=${text}`]),
  }));
}

async function askUntilRight(prompt: string, check: Asked['check'], { ask, say }: KeyDeps): Promise<string | null> {
  for (;;) {
    const text = await ask(prompt);
    if (text === null) return null;
    try {
      check(text);
      return text;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      say(visibleLine(error.message, 'prose'));
    }
  }
}
