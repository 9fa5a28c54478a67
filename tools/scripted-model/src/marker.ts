// The emulator's programs take this file along: it imports nothing.

/** What a marker in a message refers to. */
export type Marker = { kind: 'named'; name: string } | { kind: 'inline'; encoded: string };

const MARKER = /\[\[script:(?:@([\w.-]+)|([\w-]+))\]\]/g;

/** The last marker in a text: when messages were merged into one, the newest counts. */
export function lastMarker(text: string): Marker | undefined {
  const match = [...text.matchAll(MARKER)].at(-1);
  if (match === undefined) return undefined;
  const [, name, encoded] = match;
  return name !== undefined ? { kind: 'named', name } : { kind: 'inline', encoded: encoded ?? '' };
}
