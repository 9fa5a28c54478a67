import { fieldsOf, type PendingRequest, type Question, questionsOf } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import type { Platform } from '../edges.ts';
import { CliError, UsageError } from '../errors.ts';
import { answerOf, answersOf, formContent } from './answers.ts';
import { chooseRequest } from './choose-request.ts';
import { decisionOf, idsOf, needsAnswer } from './decide.ts';
import { withApiClient } from './desk-command.ts';
import { decidedText } from './print-decision.ts';
import { safeJson, visibleLine } from './text.ts';

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
