import { matchesGlob } from 'node:path';
import { ruleCovers, type ToolCall } from './rule-covers.ts';

/** Where a rule of a file tool says a path from the root (`//etc/**`) or from home (`~/secret/**`). */
const PLACED = /^[^(]+\((\/\/|~\/)(.*)\)$/s;
const FILE_FIELDS = ['file_path', 'notebook_path', 'path'] as const;

/**
 * The deny rule that a call was denied under, where the rules leave no doubt; null where none of them fits, or several do. Whether a rule of a file tool
 * fits is looked at where its path stands on its own: what one is relative to, the rule does not say.
 */
export function denyingRule(rules: readonly string[], call: ToolCall, home: string): string | null {
  const fitting = [...new Set(rules)].filter((rule) => ruleCovers(rule, call) && mayFit(rule, call, home));
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}

function mayFit(rule: string, { toolName, input }: ToolCall, home: string): boolean {
  const path = FILE_FIELDS.map((field) => input[field]).find((value) => typeof value === 'string');
  const [, start, rest = ''] = PLACED.exec(rule.trim()) ?? [];
  if (toolName === 'Bash' || path === undefined || start === undefined) return true;
  const pattern = start === '//' ? `/${rest}` : `${home}/${rest}`;
  return matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`);
}
