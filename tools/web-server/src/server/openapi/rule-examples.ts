import type { CommandInput, CommandReply, RuleCommand } from '@callboard/contract';
import * as the from './example-values.ts';

type RuleExamples = { readonly [T in RuleCommand]: { input: CommandInput<T>; reply: CommandReply<T> } };

const { project, stage, pending, rule } = the;
const scope = { projectId: project.id };
const ofRequest = { stageId: stage.id, requestId: pending.requestId };
const text = 'Bash(npm test)';
const expiresAt = '2027-01-31T12:00:00.000Z';
const used = {
  ...rule,
  uses: 14,
  lastUsedAt: rule.createdAt,
  usedFor: [{ asked: 'Bash npm run build', count: 14 }],
  lastUses: [{ stageId: stage.id, entry: 12, asked: 'Bash npm run build', at: rule.createdAt }],
};
const retried = { ...rule, scope: 'stage', stageId: stage.id, rule: text, expiresAt } as const;

/** Example calls of the commands about permission rules. */
export const ruleExamples: RuleExamples = {
  get_rules: { input: scope, reply: { rules: [rule] } },
  list_rules: { input: {}, reply: { rules: [used], ended: [] } },
  add_rule: { input: { rule: text, scope, expiresAt }, reply: { rule: { ...rule, rule: text, expiresAt } } },
  remove_rule: {
    input: { ruleId: rule.ruleId },
    reply: { rule: { ...rule, endedAt: rule.createdAt, endedBy: 'Ada' } },
  },
  rehearse_rule: {
    input: { rule: text, scope },
    reply: {
      waits: 74,
      answered: 61,
      waitedMs: 7_800_000,
      unsure: 4,
      denied: 1,
      since: null,
      wouldAllowDenied: [
        {
          ...ofRequest,
          stageTitle: stage.title,
          asked: 'Bash npm test',
          by: 'Ada',
          at: rule.createdAt,
          reason: 'Not before the merge',
        },
      ],
    },
  },
  get_rule_offer: { input: ofRequest, reply: { offer: { ...scope, stageId: stage.id, rules: [text], times: 3 } } },
  dismiss_rule_offer: { input: { ...scope, rules: [text] }, reply: {} },
  get_denial_retry: { input: ofRequest, reply: { retry: { rules: [text], whyNot: null } } },
  retry_denial: {
    input: ofRequest,
    reply: { rules: [retried], message: { status: 'sent', messageId: the.queued.messageId } },
  },
};
