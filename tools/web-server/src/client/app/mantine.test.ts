import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const client = fileURLToPath(new URL('..', import.meta.url));
const core = dirname(fileURLToPath(import.meta.resolve('@mantine/core/styles.css')));
const read = (path: string) => readFileSync(path, 'utf8');
const hasStyles = (name: string) => existsSync(join(core, 'styles', `${name}.css`));

/** The components of Mantine that a text imports from it. */
const namedIn = (source: string): string[] =>
  [...source.matchAll(/import \{([^}]*)\} from ["']@mantine\/core["']/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim().split(' ')[0] ?? ''),
  );

/** The module of each component, by its name. */
const modules = new Map(
  globSync('esm/components/**/*.mjs', { cwd: core }).map((path) => [path.split('/').at(-1)?.replace('.mjs', ''), path]),
);

/** Every component that these are made of, themselves included. */
function withDeps(names: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const waiting = names.flatMap((name) => modules.get(name) ?? []).map((path) => join(core, path));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path) || !existsSync(path)) continue;
    seen.add(path);
    for (const [, from = ''] of read(path).matchAll(/from "(\.[^"]+)"/g)) waiting.push(resolve(dirname(path), from));
  }
  return new Set([...seen].map((path) => path.split('/').at(-1)?.replace('.mjs', '') ?? ''));
}

it('loads the styles of every component of Mantine that is used, with its parts', () => {
  const own = globSync('**/*.{ts,tsx}', { cwd: client }).map((path) => join(client, path));
  const packages = ['notifications'].flatMap((name) => {
    const folder = join(core, '..', name);
    return globSync('esm/**/*.mjs', { cwd: folder }).map((path) => join(folder, path));
  });
  const used = [...withDeps([...own, ...packages].flatMap((path) => namedIn(read(path))))].filter(hasStyles);
  const css = read(join(client, 'app/mantine.css'));
  expect(used.length).toBeGreaterThan(20);
  expect(used.filter((name) => !css.includes(`styles/${name}.css`))).toEqual([]);
});

it('loads them in the order that Mantine has them in', () => {
  const all = read(join(core, 'styles.css'));
  const css = read(join(client, 'app/mantine.css'));
  const places = [...css.matchAll(/styles\/([\w-]+)\.css/g)].map(([, name]) => {
    const start = read(join(core, 'styles', `${name}.css`)).trim();
    return all.indexOf(start.slice(0, 200));
  });
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});
