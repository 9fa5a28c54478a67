/** Matches a file's line as `Read` returns it, after its number. */
const NUMBERED = /^ *(\d+)[→\t](.*)$/;

/** The code in a tool's result, and the number of its first line; null if there is none. */
export function resultCode(toolName: string, text: string): { code: string; firstLine: number | null } {
  const whole = { code: text.replace(/^<tool_use_error>(.*)<\/tool_use_error>$/s, '$1'), firstLine: null };
  if (toolName !== 'Read') return whole;
  const lines = text.replace(/\n*<system-reminder>.*$/s, '').split('\n');
  const first = NUMBERED.exec(lines[0] ?? '');
  const parts = lines.map((line) => NUMBERED.exec(line)?.[2]);
  if (first === null || parts.includes(undefined)) return whole;
  return { code: parts.join('\n'), firstLine: Number(first[1]) };
}

/** The line before a report, by which Claude Code tells its model that it comes from a subagent. */
const FRAME = /^\[Subagent hand-back\] .*:$/;
const INDENT = '  ';
/** What Claude Code adds for its model: how to continue the subagent, and its usage. */
const TRAILER = /^(agentId: [^\n]*)?\n?(<usage>[^<]*<\/usage>)?$/;

/** A subagent's answer, taken from the result of its call; null if the result has an unknown form. */
export function subagentReport(text: string): string | null {
  const [frame = '', ...lines] = text.split('\n');
  if (!FRAME.test(frame)) return null;
  const end = lines.findIndex((line) => !line.startsWith(INDENT));
  const report = end === -1 ? lines : lines.slice(0, end);
  const trailer = end === -1 ? '' : lines.slice(end).join('\n');
  if (report.length === 0 || !TRAILER.test(trailer)) return null;
  return report.map((line) => line.slice(INDENT.length)).join('\n');
}
