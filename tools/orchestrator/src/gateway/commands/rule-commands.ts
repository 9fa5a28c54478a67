import type { RuleCommand } from '@callboard/contract';
import type { DenialRetries } from '../../rules/denial-retries.ts';
import type { Rules } from '../../rules/rules.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface RuleDeps {
  views: BoardViews;
  rules: Rules;
  denialRetries: DenialRetries;
}

export function ruleCommands({ views, rules, denialRetries }: RuleDeps): Pick<CommandHandlers, RuleCommand> {
  return {
    get_rules: async ({ projectId }) => ({ rules: await views.rules(projectId) }),
    list_rules: ({ projectId }) => rules.list(projectId),
    add_rule: async (wanted, { actor }) => ({ rule: await rules.add(wanted, actor.name) }),
    remove_rule: async ({ ruleId }, { actor }) => ({ rule: await rules.remove(ruleId, actor.name) }),
    rehearse_rule: (wanted) => rules.dryRun(wanted),
    get_rule_offer: (of) => rules.offer(of),
    async dismiss_rule_offer(offer) {
      await rules.dismiss(offer);
      return {};
    },
    get_denial_retry: async ({ stageId, requestId }) => ({ retry: await denialRetries.check(stageId, requestId) }),
    retry_denial: ({ stageId, requestId }, { actor }) => denialRetries.retry(stageId, requestId, actor.name),
  };
}
