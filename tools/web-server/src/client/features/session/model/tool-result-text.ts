/** A file's lines as `Read` gives them, each behind its number. */
const NUMBERED = /^ *(\d+)[→\t](.*)$/;

/** The code within a tool's result, and the number of its first line where that was given. */
export function resultCode(toolName: string, text: string): { code: string; firstLine: number | null } {
  const whole = { code: text.replace(/^<tool_use_error>(.*)<\/tool_use_error>$/s, '$1'), firstLine: null };
  if (toolName !== 'Read') return whole;
  const lines = text.replace(/\n*<system-reminder>.*$/s, '').split('\n');
  const first = NUMBERED.exec(lines[0] ?? '');
  const parts = lines.map((line) => NUMBERED.exec(line)?.[2]);
  if (first === null || parts.includes(undefined)) return whole;
  return { code: parts.join('\n'), firstLine: Number(first[1]) };
}

/** The line in front of a report by which Claude Code tells its model that a subagent speaks. */
const FRAME = /^\[Subagent hand-back\] .*:$/;
const INDENT = '  ';
/** What Claude Code adds for its model: how to go on with the subagent, and what it used. */
const TRAILER = /^(agentId: [^\n]*)?\n?(<usage>[^<]*<\/usage>)?$/;

/** What a subagent answered, out of the result of its call; null where the result has another form than the known one. */
export function subagentReport(text: string): string | null {
  const [frame = '', ...lines] = text.split('\n');
  if (!FRAME.test(frame)) return null;
  const end = lines.findIndex((line) => !line.startsWith(INDENT));
  const report = end === -1 ? lines : lines.slice(0, end);
  const trailer = end === -1 ? '' : lines.slice(end).join('\n');
  if (report.length === 0 || !TRAILER.test(trailer)) return null;
  return report.map((line) => line.slice(INDENT.length)).join('\n');
}
