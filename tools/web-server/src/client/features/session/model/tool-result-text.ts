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
