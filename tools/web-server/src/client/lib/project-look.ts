/** A disc, a ring, a square, a frame, a diamond, a triangle, a cross and two bars, on 12 by 12. */
const SHAPES = [
  'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Z',
  'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Zm0 2.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6Z',
  'M2.5 1.5h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Z',
  'M2.5 1.5h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Zm1.2 2.2v4.6h4.6V3.7Z',
  'M6 .4 11.6 6 6 11.6.4 6Z',
  'M6 1.2 11.6 10.8H.4Z',
  'M4.4 1h3.2v3.4H11v3.2H7.6V11H4.4V7.6H1V4.4h3.4Z',
  'M1.6 1h3.2v10H1.6Zm5.6 0h3.2v10H7.2Z',
] as const;

/** How many `--tint-` colours the tokens have. */
const TINTS = 8;

export interface ProjectAppearance {
  /** A path on 12 by 12, filled by the even-odd rule. */
  shape: string;
  /** 1 to 8: the `--tint-` of the tokens. */
  tint: number;
}

/** The sign and the tint of a project. They depend on nothing but its name, so that they are the same everywhere and for everybody. */
export function projectAppearance(name: string): ProjectAppearance {
  const hash = hashOf(name);
  return { shape: SHAPES[hash % SHAPES.length] ?? SHAPES[0], tint: 1 + (Math.floor(hash / SHAPES.length) % TINTS) };
}

/** FNV-1a with a last mix, so that names that differ in one letter look different. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
