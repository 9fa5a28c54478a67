import type { UsedRule } from '@callboard/contract';

/** Which rules are shown, as written in the URL. An empty value means all. */
export interface RuleFilter {
  project: string;
  text: string;
}

export const readRuleFilter = (params: URLSearchParams): RuleFilter => ({
  project: params.get('project') ?? '',
  text: params.get('text') ?? '',
});

/** Returns the URL query for a filter. */
export const writeRuleFilter = (filter: RuleFilter): URLSearchParams =>
  new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));

/** Whether the filter shows a rule. The text is looked for in the rule, in who granted it, in its stage and in what it was used for. */
export function matchesRule(rule: UsedRule, filter: RuleFilter, titleOf: (stageId: string) => string): boolean {
  if (filter.project !== '' && rule.projectId !== filter.project) return false;
  const { by, stageId, usedFor } = rule;
  const texts = [rule.rule, by ?? '', stageId === null ? '' : titleOf(stageId), ...usedFor.map(({ asked }) => asked)];
  const wanted = filter.text.trim().toLowerCase();
  return texts.some((text) => text.toLowerCase().includes(wanted));
}
