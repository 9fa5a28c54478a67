import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

// No type says which classes a sheet has, so a class that is missing there draws nothing and fails nowhere.

const client = fileURLToPath(new URL('..', import.meta.url));
const sheets = new Map(
  globSync('**/*.module.css', { cwd: client }).map((path) => [join(client, path), classesIn(join(client, path))]),
);

function classesIn(path: string): Set<string> {
  const rules = readFileSync(path, 'utf8').replaceAll(/\/\*.*?\*\/|"[^"]*"|:global\([^)]*\)/gs, '');
  return new Set(Array.from(rules.matchAll(/\.([a-zA-Z][\w-]*)/g), ([, name = '']) => name));
}

/** Which classes each module names, by the sheet. */
function* uses(): Generator<{ module: string; sheet: string; names: string[]; isWhole: boolean }> {
  for (const module of globSync('**/*.{ts,tsx}', { cwd: client })) {
    const source = readFileSync(join(client, module), 'utf8');
    const text = source.replaceAll(/^import .*;$/gm, '');
    for (const [, local = '', from = ''] of source.matchAll(/import (\w+) from '(\.[^']+\.module\.css)'/g)) {
      const names = Array.from(
        text.matchAll(new RegExp(`(?<![\\w.'])${local}\\.(\\w+)`, 'g')),
        ([, name = '']) => name,
      );
      const isWhole = new RegExp(`(?<![\\w.])${local}(\\[|[,;)}\\s])`).test(text);
      yield { module, sheet: join(client, dirname(module), from), names, isWhole };
    }
  }
}

it('every class that a module names is in its sheet', () => {
  const missing = [...uses()].flatMap(({ module, sheet, names }) =>
    names.filter((name) => sheets.get(sheet)?.has(name) !== true).map((name) => `${module}: ${name}`),
  );
  expect(missing).toEqual([]);
});

it('every class of a sheet is named by a module', () => {
  const named = new Map<string, Set<string>>();
  const whole = new Set<string>();
  for (const { sheet, names, isWhole } of uses()) {
    named.set(sheet, new Set([...(named.get(sheet) ?? []), ...names]));
    if (isWhole) whole.add(sheet);
  }
  const unused = [...sheets]
    .filter(([path]) => !whole.has(path))
    .flatMap(([path, classes]) =>
      [...classes].filter((name) => !named.get(path)?.has(name)).map((name) => `${path.slice(client.length)}: ${name}`),
    );
  expect(unused).toEqual([]);
});
