const MAX_LENGTH = 60;

/** Markdown at the start of a line: headings, list items, quotes, and the fence or back ticks of code. */
const MARKS = /^(?:\s|#+\s|[-*+]\s|>\s?|\d+[.)]\s|`+)+/;

/** The end of a sentence, not of "e.g." or "src/app.ts". */
const SENTENCE_END = /(?<!\b(?:e\.g|i\.e|etc|vs))[.!?:;](?=\s|$)/;

/** Proposes a title for a prompt: its first sentence without Markdown, cut at a word; empty for an empty prompt. */
export function titleProposal(prompt: string): string {
  const lines = prompt.split('\n').map((line) => line.replace(MARKS, '').trim());
  const named = lines.find((line) => /[\p{L}\p{N}]/u.test(line)) ?? '';
  const first = named
    .replace(/\*\*|__|`/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const end = SENTENCE_END.exec(first)?.index ?? first.length;
  const sentence = first
    .slice(0, end)
    .replace(/^please\s+/i, '')
    .trim();
  const title = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  if (title.length <= MAX_LENGTH) return title;
  const cut = title.slice(0, MAX_LENGTH);
  const atWord = cut.slice(0, Math.max(cut.lastIndexOf(' '), MAX_LENGTH / 2)).replace(/[\s,;:–-]+$/, '');
  return `${atWord}…`;
}
