const ESC = '\u001b';
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f\u0080-\u009f]/g;

/** Output of a program as a terminal would leave it: no colours, no control characters, overwritten lines once. */
export function plainOutput(text: string): string {
  const withoutEscapes = text.includes(ESC) ? text.replace(SEQUENCES, '') : text;
  return withoutEscapes.replaceAll('\r\n', '\n').split('\n').map(lastWritten).join('\n').replace(CONTROLS, '');
}

/** A progress bar writes its line again after each carriage return. */
function lastWritten(line: string): string {
  if (!line.includes('\r')) return line;
  return line.split('\r').findLast((part) => part !== '') ?? '';
}
