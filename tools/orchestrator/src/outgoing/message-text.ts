import type { WebhookEvent } from '@callboard/contract';

/** How long a text is for a service. */
type Measure = (text: string) => number;

/**
 * Returns as much of a text as fits, escaped. Whole characters only, so that neither a pair of surrogates nor an escape is cut in two.
 * @param escaped escapes one character
 */
export function fit(
  text: string,
  longest: number,
  escaped: (character: string) => string = (character) => character,
  measure: Measure = (one) => one.length,
): string {
  const parts: string[] = [];
  let [length, cutAt] = [0, 0];
  const room = longest - measure('…');
  for (const character of text) {
    const part = escaped(character);
    length += measure(part);
    if (length > longest) return `${parts.slice(0, cutAt).join('')}…`;
    parts.push(part);
    if (length <= room) cutAt = parts.length;
  }
  return parts.join('');
}

/** Bytes in UTF-8. */
export const bytesOf: Measure = (text) => Buffer.byteLength(text);

const SLACK: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Slack's control characters: without them nothing is a mention, a link or markup of a plain text. */
export const escapeSlack = (character: string): string => SLACK[character] ?? character;

/** Discord takes a backslash before any sign as that very sign. */
export const escapeDiscord = (character: string): string =>
  /[\\*_~`|>#@<:[\]()\-+.!]/.test(character) ? `\\${character}` : character;

/** The title and, if there is one, the text. */
export const textOf = ({ data: { title, text } }: WebhookEvent): string => (text === '' ? title : `${title}\n${text}`);
