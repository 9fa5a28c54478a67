import type { CommandReply, Decision, PendingRequest } from '@callboard/contract';
import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import { UsageError } from '../errors.ts';
import { chooseRequest, confirm } from './choose-request.ts';
import { withApiClient } from './desk-command.ts';
import { textOrInput } from './flags.ts';
import { decidedText } from './print-decision.ts';
import { safeJson } from './text.ts';

/** The modes that may follow a plan. */
const PlanMode = z.enum(['default', 'acceptEdits'], { error: 'must be default or acceptEdits' });
type PlanMode = z.infer<typeof PlanMode>;

/** `callboard allow`. */
export const allow = (invocation: Invocation): Promise<number> =>
  withApiClient(
    invocation,
    { request: z.string().optional(), mode: PlanMode.optional() },
    async ({ api, options: { request: id, mode, json }, platform, hint }) => {
      const chosen = await chooseRequest({ api, platform, hint }, id);
      const { request } = chosen;
      if (needsAnswer(request)) {
        throw new UsageError(`this request needs an answer: ${hint(`answer ${request.requestId} ANSWER...`)}`);
      }
      if (mode !== undefined && request.kind !== 'plan') throw new UsageError('--mode: is for plans only.');
      await confirm(chosen, request.kind === 'plan' ? 'Accept this plan?' : 'Allow?', platform);
      const reply = await api.command('approve_tool', { ...idsOf(request), ...allowing(request, mode) });
      const decision = decisionOf(reply);
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

/** What allowing a request sends; accepting a plan always names the mode that follows. */
export const allowing = ({ kind }: PendingRequest, mode: PlanMode = 'default') => ({
  decision: 'allow' as const,
  ...(kind === 'plan' && { updatedPermissions: [{ type: 'setMode', mode, destination: 'session' }] }),
});
