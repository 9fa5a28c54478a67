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
