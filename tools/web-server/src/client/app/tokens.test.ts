import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const css = readFileSync(new URL('tokens.css', import.meta.url), 'utf8');

/** The colours of a scheme, by name. */
function colours(scheme: string): Map<string, string> {
  const block = new RegExp(`scheme="${scheme}"\\] \\{([^}]*)\\}`).exec(css)?.[1] ?? '';
  return new Map([...block.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6});/g)].map(([, name = '', hex = '']) => [name, hex]));
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, as WCAG defines it. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

const SURFACES = ['bg', 'surface', 'raised', 'sunken', 'code'];
const TEXTS = [
  'text',
  'muted',
  'faint',
  'accent',
  'needs',
  'fail',
  'done',
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => `tint-${n}`),
];
const SOFT = [
  ['needs', 'needs-soft'],
  ['fail', 'fail-soft'],
  ['done', 'done-soft'],
  ['accent', 'accent-soft'],
  ['text', 'accent-soft'],
  ['muted', 'accent-soft'],
  ['on-needs', 'needs-strong'],
] as const;

describe.each(['dark', 'light'])('in the %s scheme', (scheme) => {
  const all = colours(scheme);
  const of = (name: string) => all.get(name) ?? expect.fail(`there is no --${name}`);

  it('every text has a contrast of 4.5 on every surface', () => {
    const pairs = [...TEXTS.flatMap((text) => SURFACES.map((surface) => [text, surface] as const)), ...SOFT];
    const faint = pairs.filter(([text, surface]) => contrast(of(text), of(surface)) < 4.5);
    expect(faint).toEqual([]);
  });

  it('the border of a field has a contrast of 3', () => {
    const faint = ['bg', 'surface', 'raised'].filter((surface) => contrast(of('line-control'), of(surface)) < 3);
    expect(faint).toEqual([]);
  });
});

it('both schemes have the same colours', () => {
  expect([...colours('light').keys()].toSorted()).toEqual([...colours('dark').keys()].toSorted());
});
