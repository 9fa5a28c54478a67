import {
  type BoardView,
  type CommandReply,
  contentOf,
  type Decision,
  type FieldValue,
  type FormField,
  fieldProblem,
  fieldsOf,
  isFilledIn,
  joinLabels,
  type PendingRequest,
  type Question,
  questionsOf,
  shortDuration,
  type ToolInput,
} from '@callboard/contract';
import { type Transport, TransportError } from '@callboard/contract/client';
import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import { CliError, UsageError } from '../errors.ts';
import type { Platform } from '../platform.ts';
import { type ApiWork, type Hint, withApiClient } from './api-client.ts';
import { findRequest, findStage, notOpen, shortIds } from './find.ts';
import { requestLine, requestLines, risksOf } from './request-text.ts';
import { textOrInput } from './terminal-flags.ts';
import { cut, displayWidth, padded, safeJson, styleOf, visibleLine } from './text.ts';

const options = { request: z.string().optional(), answers: z.array(z.string()).default([]) };

/** `callboard answer`. */
export const answer = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, options, async ({ api, options: { request: id, answers, json }, platform, hint }) => {
    const { request } = await chooseRequest({ api, platform, hint }, id);
    if (!needsAnswer(request)) {
      throw new UsageError(`this request asks for a yes or no: ${hint(`allow ${request.requestId}`)}, or deny.`);
    }
    const given = answers.length > 0 ? answers : await askFor(request, platform);
    const decision = await sendAnswer(api, request, given);
    platform.out(json ? safeJson(decision) : decidedText(decision));
  });

/**
 * Sends the answers to a request's questions, or the content of its form.
 * @throws UsageError if they do not fit, TransportError if they are refused
 */
export async function sendAnswer(api: Transport, request: PendingRequest, texts: readonly string[]) {
  const ids = idsOf(request);
  if (request.kind === 'elicitation') {
    const updatedInput = formContent(fieldsOf(request.input), texts);
    return decisionOf(await api.command('approve_tool', { ...ids, decision: 'allow', updatedInput }));
  }
  const answers = answersOf(questionsOf(request.input), texts);
  return decisionOf(await api.command('answer_question', { ...ids, answers }));
}

/** Asks for each answer on the terminal. */
async function askFor(request: PendingRequest, { input, err }: Platform): Promise<string[]> {
  if (!input.isTerminal) throw new UsageError('name the answers after the request, in the order of its questions.');
  if (request.kind === 'elicitation') {
    const given: string[] = [];
    for (const field of fieldsOf(request.input)) {
      const text = await ask(input, `${visibleLine(field.name, 'prose')}${field.required ? '' : ' (optional)'}: `);
      if (text.trim() !== '') given.push(`${field.name}=${text}`);
    }
    return given;
  }
  const given: string[] = [];
  for (const question of questionsOf(request.input)) given.push(await askOne(question, input, err));
  return given;
}

async function askOne(question: Question, input: Platform['input'], err: Platform['err']): Promise<string> {
  for (;;) {
    const text = await ask(input, `${visibleLine(question.question, 'prose')} `);
    try {
      answerOf(question, text);
      return text;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      err(error.message);
    }
  }
}

async function ask(input: Platform['input'], question: string): Promise<string> {
  const text = await input.ask(question);
  if (text === null) throw new CliError('nothing was answered. The request is still open.');
  return text;
}

/**
 * Returns the answer to a question as it is sent: the labels of the options that are named by number or label, or the text itself.
 * @param text "2", "1,3", "PostgreSQL", or words that no option has
 * @throws UsageError for an empty text, the number of no option, or several options where one is asked for
 */
export function answerOf({ question, options = [], multiSelect = false }: Question, text: string): string {
  const given = text.trim();
  const about = JSON.stringify(question);
  if (given === '') throw new UsageError(`the answer to ${about} is empty.`);
  const label = (word: string) => options.find((option) => option.label.toLowerCase() === word.toLowerCase())?.label;
  const whole = label(given);
  if (whole !== undefined) return whole;
  const parts = given.split(',').map((part) => part.trim());
  if (options.length === 0 || !parts.every((part) => isNumber(part) || label(part) !== undefined)) return given;
  const labels = parts.map((part) => {
    const found = label(part) ?? options[Number(part) - 1]?.label;
    if (found === undefined) throw new UsageError(`${about} has no option ${part}; it has ${options.length}.`);
    return found;
  });
  if (labels.length > 1 && !multiSelect) throw new UsageError(`${about} takes one option, not ${labels.length}.`);
  // In the order in which they were offered, each once.
  return joinLabels(options.map((option) => option.label).filter((one) => labels.includes(one)));
}

const isNumber = (text: string): boolean => /^\d{1,4}$/.test(text);

/**
 * Returns the answers to all questions of a request, in their order.
 * @throws UsageError for a wrong number of answers, and as `answerOf`
 */
export function answersOf(questions: readonly Question[], texts: readonly string[]): Record<string, string> {
  if (texts.length !== questions.length) {
    const wanted = questions.length === 1 ? 'one answer' : `${questions.length} answers`;
    throw new UsageError(`this request needs ${wanted}, in the order of its questions; ${texts.length} given.`);
  }
  return Object.fromEntries(
    questions.map((question, index) => [question.question, answerOf(question, texts[index] ?? '')]),
  );
}

/**
 * Returns the content of a form from words like `city=Berlin`.
 * @throws UsageError for an unknown field, a value that does not fit, and a missing one
 */
export function formContent(fields: readonly FormField[], texts: readonly string[]): ToolInput {
  const values: Record<string, FieldValue> = {};
  for (const text of texts) {
    const at = text.indexOf('=');
    const name = text.slice(0, Math.max(0, at));
    const field = fields.find((one) => one.name === name);
    if (field === undefined) {
      const known = fields.map((one) => one.name).join(', ');
      throw new UsageError(`${JSON.stringify(text)} is no field=value. The fields are: ${known}.`);
    }
    values[name] = fieldValueOf(field, text.slice(at + 1));
  }
  if (!isFilledIn(fields, values)) {
    const missing = fields.filter((one) => !isFilledIn([one], values)).map((one) => one.name);
    throw new UsageError(`the form needs a value for ${missing.join(', ')}, as field=value.`);
  }
  return contentOf(fields, values);
}

/** Returns the value of a field. @throws UsageError if it does not fit */
export function fieldValueOf({ name, kind, choices }: FormField, text: string): FieldValue {
  const given = text.trim();
  if (kind === 'flag') {
    if (/^(y|yes|true)$/i.test(given)) return true;
    if (/^(n|no|false)$/i.test(given)) return false;
    throw new UsageError(`${name} is yes or no.`);
  }
  if (kind === 'choice') {
    const found = choices.find(({ value, label }) => [value, label].includes(given)) ?? choices[Number(given) - 1];
    if (found === undefined)
      throw new UsageError(`${name} is one of: ${choices.map(({ label }) => label).join(', ')}.`);
    return found.value;
  }
  const problem = fieldProblem(kind, given);
  if (problem !== null) throw new UsageError(`${name}: ${problem}`);
  return given;
}

/** The request to decide, and whether a person named it. */
export interface Chosen {
  readonly request: PendingRequest;
  readonly isNamed: boolean;
}

/** How many of the newest decisions are searched for one that somebody else made. */
const RECENT = 200;

/**
 * Finds the request that the command line names, or the only open one, and prints it whole to stderr.
 * @throws CliError if it is no longer open, with who decided it, or if none is
 * @throws UsageError if several are open and none is named, or if nobody is there to confirm the only one
 */
export async function chooseRequest(
  { api, platform, hint }: Pick<ApiWork<object>, 'api' | 'platform' | 'hint'>,
  id: string | undefined,
): Promise<Chosen> {
  const board = await api.command('get_board', {});
  const chosen = id === undefined ? onlyOne(board, platform, hint) : await namedOne({ api, hint }, board, id);
  const stage = board.stages.find(({ id }) => id === chosen.request.stageId);
  const place = {
    title: stage?.title ?? '',
    folder: stage?.worktree?.path ?? null,
    width: platform.columns(),
    style: styleOf(platform),
    now: platform.now(),
  };
  for (const line of requestLines(chosen.request, place)) platform.err(line);
  return chosen;
}

async function namedOne(
  { api, hint }: Pick<ApiWork<object>, 'api' | 'hint'>,
  { pending }: BoardView,
  id: string,
): Promise<Chosen> {
  const request = findRequest(pending, id);
  if (request !== null) return { request, isNamed: true };
  const { decisions } = await api.command('get_decisions', { limit: RECENT });
  throw notOpen(decisions, id, hint);
}

function onlyOne({ pending }: BoardView, { input }: Platform, hint: Hint): Chosen {
  const [request] = pending;
  if (request === undefined) throw new CliError('no request is open.');
  if (pending.length > 1) {
    const list = [...shortIds(pending)].map(([one, id]) => `\n  ${id}  ${one.stageId}  ${requestLine(one)}`).join('');
    throw new UsageError(`${pending.length} requests are open. Name the one you mean:${list}`);
  }
  if (!input.isTerminal) {
    throw new UsageError(`without a terminal, name the request. They are listed by: ${hint('pending')}`);
  }
  return { request, isNamed: false };
}

/**
 * Asks before a request is decided that nobody named.
 * @throws CliError unless the person says yes; nothing is decided then
 */
export async function confirm({ isNamed }: Chosen, question: string, { input }: Platform): Promise<void> {
  if (isNamed) return;
  const answer = await input.ask(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer?.trim() ?? '')) throw new CliError('nothing was decided. The request is still open.');
}

/** The modes that may follow a plan. */
const PlanMode = z.enum(['default', 'acceptEdits'], { error: 'must be default or acceptEdits' });
type PlanMode = z.infer<typeof PlanMode>;

/** `callboard allow`. */
export const allow = (invocation: Invocation): Promise<number> =>
  withApiClient(
    invocation,
    { request: z.string().optional(), mode: PlanMode.optional(), hosts: z.boolean().default(false) },
    async ({ api, options: { request: id, mode, hosts: withHosts, json }, platform, hint, pageOf }) => {
      const chosen = await chooseRequest({ api, platform, hint }, id);
      const { request } = chosen;
      if (needsAnswer(request)) {
        throw new UsageError(`this request needs an answer: ${hint(`answer ${request.requestId} ANSWER...`)}`);
      }
      if (mode !== undefined && request.kind !== 'plan') throw new UsageError('--mode: is for plans only.');
      const hosts = withHosts ? request.hosts : undefined;
      if (withHosts && hosts === undefined) throw new UsageError('--hosts: this request names no hosts.');
      const question = hosts === undefined ? 'Allow?' : `Allow with ${hosts.join(', ')}?`;
      await confirm(chosen, request.kind === 'plan' ? 'Accept this plan?' : question, platform);
      const decision = await allowRequest({ api, pageOf }, request, { mode, hosts });
      platform.out(json ? safeJson(decision) : decidedText(decision));
    },
  );

/** `callboard deny`. */
export const deny = (invocation: Invocation): Promise<number> =>
  withApiClient(
    invocation,
    { request: z.string().optional(), reason: z.string().optional(), interrupt: z.boolean().optional() },
    async ({ api, options: { request: id, reason: given, interrupt, json }, platform, hint }) => {
      if (given === '-' && id === undefined) throw new UsageError('--reason -: name the request as well.');
      const chosen = await chooseRequest({ api, platform, hint }, id);
      const reason = given === '-' ? await textOrInput(given, platform, '--reason -: nothing was piped in.') : given;
      await confirm(chosen, chosen.request.kind === 'plan' ? 'Send this plan back?' : 'Deny?', platform);
      const reply = await api.command('approve_tool', {
        ...idsOf(chosen.request),
        decision: 'deny',
        ...(reason !== undefined && { reason }),
        ...(interrupt !== undefined && { interrupt }),
      });
      const decision = decisionOf(reply);
      platform.out(json ? safeJson(decision) : decidedText(decision));
    },
  );

/** Returns the decision in a reply. Only answers that ask for it are held back, and those of a terminal do not. */
export function decisionOf(reply: CommandReply<'approve_tool' | 'answer_question'>): Decision {
  if ('decision' in reply) return reply.decision;
  throw new Error('the answer is held back although nobody asked for that');
}

export const idsOf = ({ stageId, requestId }: PendingRequest) => ({ stageId, requestId });

/** Whether Claude waits for words or values, not for a yes or no. */
export const needsAnswer = ({ kind }: PendingRequest): boolean => kind === 'question' || kind === 'elicitation';

/**
 * Allows a request; accepting a plan always names the mode that follows.
 * @throws CliError with the address of the page, for a kind of request whose answer needs an input that only the page asks for;
 *   TransportError if it is refused otherwise
 */
export async function allowRequest(
  { api, pageOf }: Pick<ApiWork<object>, 'api' | 'pageOf'>,
  request: PendingRequest,
  { mode = 'default', hosts }: { mode?: PlanMode | undefined; hosts?: readonly string[] | undefined } = {},
): Promise<Decision> {
  const updatedPermissions = [{ type: 'setMode', mode, destination: 'session' }];
  const body = {
    decision: 'allow' as const,
    ...(request.kind === 'plan' && { updatedPermissions }),
    ...(hosts !== undefined && { hosts: [...hosts] }),
  };
  try {
    return decisionOf(await api.command('approve_tool', { ...idsOf(request), ...body }));
  } catch (error) {
    if (!(error instanceof TransportError) || error.code !== 'bad_request') throw error;
    throw new CliError(`This request needs an answer from its page: ${pageOf(request.stageId)} (${error.message})`);
  }
}

const DONE: Readonly<Record<Decision['outcome'], string>> = {
  allowed: 'Allowed',
  denied: 'Denied',
  answered: 'Answered',
  'timed-out': 'Timed out',
  closed: 'Closed',
};

/** Says what a decision did, and how far it got: "Allowed: Bash npm install". */
export function decidedText({ outcome, asked, delivery, toolName, hosts }: Decision): string {
  const whom = hosts === undefined ? '' : ` with ${visibleLine(hosts.join(', '), 'command')}`;
  const what = `${DONE[outcome]}${whom}: ${visibleLine(asked || toolName, 'command')}`;
  if (delivery === 'confirmed' || delivery === 'none') return what;
  if (delivery === 'unknown') return `${what}. It is not known whether Claude received it: look at the board`;
  return `${what} (stored; Claude has not confirmed it yet)`;
}

const listPendingOptions = { stage: z.string().optional(), ids: z.boolean().default(false) };

/** `callboard pending`. */
export const listPending = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, listPendingOptions, async ({ api, options: { json, ids, stage }, platform, hint }) => {
    const wanted =
      stage === undefined ? {} : { stageId: findStage(await api.command('get_board', {}), stage, hint).id };
    const reply = await api.command('get_pending', wanted);
    const requestIds = reply.pending.map(({ requestId }) => requestId);
    if (json) {
      platform.out(safeJson(ids ? requestIds : reply, 2));
      return;
    }
    if (ids) {
      for (const id of requestIds) platform.out(id);
      return;
    }
    if (reply.pending.length === 0) platform.out('No request is open.');
    const style = styleOf(platform);
    for (const [request, id] of shortIds(reply.pending)) {
      const age = shortDuration(platform.now().getTime() - Date.parse(request.createdAt)).padStart(6);
      const risks = risksOf(request);
      const start = `${style.bold(id)}  ${padded(request.stageId, 9)} ${style.dim(age)}  `;
      const end = risks === '' ? '' : `  (${risks})`;
      const room = Math.max(20, platform.columns() - displayWidth(start) - displayWidth(end));
      platform.out(`${start}${cut(requestLine(request), room)}${style.call(end)}`);
    }
  });
