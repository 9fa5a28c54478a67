import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const css = readFileSync(new URL('tokens.css', import.meta.url), 'utf8');

/** The colours of a scheme, by name. */
function colours(scheme: string): Map<string, string> {
  const block = new RegExp(`scheme="${scheme}"\\] \\{([^}]*)\\}`).exec(css)?.[1] ?? '';
  return new Map([...block.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6});/g)].map(([, name = '', hex = '']) => [name, hex]));
}

type Three = readonly [number, number, number];

/** The red, green and blue of a colour as amounts of light, from 0 to 1. */
const lightOf = (hex: string): Three => [part(hex, 1), part(hex, 3), part(hex, 5)];

function part(hex: string, at: number): number {
  const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

const dot = (one: Three, other: Three): number => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
const seenBy = ([red, green, blue]: readonly [Three, Three, Three], light: Three): Three => [
  dot(red, light),
  dot(green, light),
  dot(blue, light),
];

const luminance = (hex: string): number => dot([0.2126, 0.7152, 0.0722], lightOf(hex));

/** What is left of light for people who lack one kind of cone: Viénot, Brettel and Mollon (1999). */
const VISIONS: Readonly<Record<string, readonly [Three, Three, Three]>> = {
  // biome-ignore format: matrices
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  // biome-ignore format: matrices
  'no red': [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
  // biome-ignore format: matrices
  'no green': [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
  // biome-ignore format: matrices
  'no blue': [[1, 0.14461, -0.14461], [0, 0.85924, 0.14076], [0, 0.85924, 0.14076]],
};

/** A colour in CIE L*a*b*, where equal distances look about equal; 2.3 is just noticeable. */
function labOf(light: Three): Three {
  const curve = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = curve(dot([0.4124, 0.3576, 0.1805], light) / 0.95047);
  const y = curve(dot([0.2126, 0.7152, 0.0722], light));
  const z = curve(dot([0.0193, 0.1192, 0.9505], light) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
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
const CHARTS = [1, 2, 3, 4, 5, 6].map((n) => `chart-${n}`);
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

  it.each(Object.entries(VISIONS))('the series of a chart differ clearly for people with cones of %s', (_, vision) => {
    const seen = CHARTS.map((name) => ({ name, lab: labOf(seenBy(vision, lightOf(of(name)))) }));
    const alike = seen.flatMap((one, at) =>
      seen
        .slice(at + 1)
        .filter((other) => Math.hypot(...one.lab.map((value, axis) => value - (other.lab[axis] ?? 0))) < 12)
        .map((other) => [one.name, other.name]),
    );
    expect(alike).toEqual([]);
  });

  it('the series of a chart have a contrast of 3', () => {
    const pairs = CHARTS.flatMap((name) => ['bg', 'surface', 'raised'].map((surface) => [name, surface] as const));
    expect(pairs.filter(([name, surface]) => contrast(of(name), of(surface)) < 3)).toEqual([]);
  });

  it('the border of a field has a contrast of 3', () => {
    const faint = ['bg', 'surface', 'raised'].filter((surface) => contrast(of('line-control'), of(surface)) < 3);
    expect(faint).toEqual([]);
  });
});

it('both schemes have the same colours', () => {
  expect([...colours('light').keys()].toSorted()).toEqual([...colours('dark').keys()].toSorted());
});
