const ESC = '\u001b';
const SIGNAL = '\u0007';
const END = `(?:${SIGNAL}|${ESC}\\\\)?`;
/** Control sequences (colours, cursor), operating system commands (titles, links), device strings, and the rest. */
const SEQUENCES = new RegExp(
  `${ESC}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${SIGNAL}${ESC}]*${END}|[PX^_][^${ESC}]*${END}|[ -/]*[0-~])`,
  'g',
);
/** All control characters except tab and line feed. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

/** A program's output as a terminal would leave it: no colours, no control characters, overwritten lines once. */
export function plainOutput(text: string): string {
  const withoutEscapes = text.includes(ESC) ? text.replace(SEQUENCES, '') : text;
  return withoutEscapes.replaceAll('\r\n', '\n').split('\n').map(lastWritten).join('\n').replace(CONTROLS, '');
}

/** A progress bar rewrites its line after each carriage return. */
function lastWritten(line: string): string {
  if (!line.includes('\r')) return line;
  return line.split('\r').findLast((part) => part !== '') ?? '';
}
