import { matchesGlob } from 'node:path';
import { ruleCovers, type ToolCall } from './rule-covers.ts';

/** A file tool's rule with a path from the root (`//etc/**`) or from the home folder (`~/secret/**`). */
const PLACED = /^[^(]+\((\/\/|~\/)(.*)\)$/s;
const FILE_FIELDS = ['file_path', 'notebook_path', 'path'] as const;

/**
 * The deny rule that matches a denied call; null when none of the rules matches, or more than one. For file tools only
 * absolute paths are compared: a rule does not say what its relative path is relative to.
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
