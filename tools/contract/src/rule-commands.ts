import { z } from 'zod';
import { ProjectId, RequestId, StageId } from './ids.ts';
import { SendMessageReply } from './messages.ts';
import {
  DenialRetry,
  PermissionRule,
  Rehearsal,
  RuleOffer,
  RulePlace,
  RulesQuery,
  RuleText,
  UsedRule,
} from './rules.ts';

const ofRequest = z.object({ stageId: StageId, requestId: RequestId });

const NewRule = z.strictObject({
  rule: RuleText,
  scope: RulePlace,
  /** When it stops by itself; never without it. */
  expiresAt: z.iso.datetime().optional(),
});
const RehearseBody = z.strictObject({
  rule: RuleText,
  scope: RulePlace,
  /** Rules that would be granted with it: a compound command needs one for each of its parts. */
  along: z.array(RuleText).max(50).optional(),
});
const OfferDismissal = z.strictObject({ projectId: ProjectId, rules: z.array(RuleText).min(1).max(50) });

/** The commands about permission rules, as `commands` has them. */
export const ruleCommands = {
  /** Returns the rules that apply in a project and its stages. */
  get_rules: {
    time: 'read',
    input: z.object({ projectId: ProjectId }),
    reply: z.object({ rules: z.array(PermissionRule) }),
  },
  /** Returns the rules of all projects, or of one, with their use; and the newest of those that have ended. */
  list_rules: {
    time: 'read',
    input: RulesQuery,
    reply: z.object({ rules: z.array(UsedRule), ended: z.array(UsedRule) }),
  },
  /** Grants a rule, also to sessions that run. A rule that is there already gets the new end date. */
  add_rule: { input: NewRule, reply: z.object({ rule: PermissionRule }) },
  /** Removes a rule. Running sessions ask again, except for a folder or a host. */
  remove_rule: { input: z.object({ ruleId: z.string() }), reply: z.object({ rule: PermissionRule }) },
  /** Plays a rule against the decision log. Changes nothing. */
  rehearse_rule: { input: RehearseBody, reply: Rehearsal },
  /** Returns exact rules for a request that people have allowed at least three times; null if there is nothing to offer. */
  get_rule_offer: { time: 'read', input: ofRequest, reply: z.object({ offer: RuleOffer.nullable() }) },
  /** Puts an offer away. It returns after ten more of the same answers. */
  dismiss_rule_offer: { input: OfferDismissal, reply: z.object({}) },
  /** Tells whether a call that Claude Code denied can be allowed and tried again. */
  get_denial_retry: { time: 'read', input: ofRequest, reply: z.object({ retry: DenialRetry }) },
  /** Allows exactly the denied call in this stage for an hour, and tells Claude to try it again once its turn is over. */
  retry_denial: {
    time: 'slow',
    input: ofRequest,
    reply: z.object({ rules: z.array(PermissionRule), message: SendMessageReply }),
  },
} as const;

/** The name of a command about permission rules. */
export type RuleCommand = keyof typeof ruleCommands;
