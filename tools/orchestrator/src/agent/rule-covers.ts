/** The parts of a tool call that a rule can match. */
export interface ToolCall {
  toolName: string;
  input: Readonly<Record<string, unknown>>;
  /** The folder that the session works in, for rules about files; left out or null if unknown. */
  folder?: string | null;
}

/** Whether rules let a call through: `unsure` where only Claude Code could tell. */
export type Match = 'yes' | 'no' | 'unsure';

/** The name and the content of a rule. */
export const RULE = /^([^()]+?)(?:\((.*)\))?$/s;

/**
 * Whether a permission rule such as `Bash(npm run *)` may have allowed a call. For Bash each part of a compound command is
 * compared; for other tools only the name, since only Claude Code knows what a path or an address means.
 */
export function ruleCovers(rule: string, { toolName, input }: ToolCall): boolean {
  const match = RULE.exec(rule.trim());
  const [, name = '', content] = match ?? [];
  if (!coversName(name, toolName)) return false;
  if (content === undefined || content === '' || content === '*' || toolName !== 'Bash') return true;
  const command = typeof input.command === 'string' ? input.command : '';
  return command.split(/&&|\|\||[;|&\n]/).some((part) => fits(content, part.trim()));
}

function coversName(name: string, toolName: string): boolean {
  if (name === toolName || fits(name, toolName)) return true;
  if (name === 'Read') return ['Glob', 'Grep'].includes(toolName);
  if (name === 'Edit') return ['Write', 'MultiEdit', 'NotebookEdit'].includes(toolName);
  // A whole MCP server.
  return name.startsWith('mcp__') && toolName.startsWith(`${name}__`);
}

/** Patterns are `npm run *`, `npm run:*`, or the exact text. */
function fits(pattern: string, text: string): boolean {
  const parts = pattern.replace(/:\*$/, '*').replace(/ \*$/, '*').split('*');
  const [first = '', ...others] = parts;
  if (others.length === 0) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const [index, part] of others.entries()) {
    if (index === others.length - 1) return part === '' || (text.endsWith(part) && text.length - part.length >= at);
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return true;
}
