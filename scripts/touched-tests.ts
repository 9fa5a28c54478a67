import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const root = join(import.meta.dirname, '..');
/** The last commit for which every test is known to pass. */
const provenFile = '.ci/proven';
/** `npm test` alone proves these: checks and the tests of `scripts`. */
const HARMLESS =
  /^(docs|\.ci)\/|^tools\/lab\/(bench|walk|pictures)\/|\.md$|^(LICENSE|biome\.json|knip\.json|\.gitignore)$/;
const TEST = /\.test\.tsx?$/;
const CODE = /\.([jt]sx?|css|html)$/;
/** A text in a source file that may be a path, of a module that it imports or of a program that it starts. */
const LITERAL = /(['"`])([\w@./-]+)(?:\?\w+)?\1/g;

function output(command: string, args: string[], env = process.env): string {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

const git = (...args: string[]) => output('git', args);
const lines = (text: string) => text.split('\n').filter(Boolean);

/** Says whether the build is fresh: a test that imports it does not run the CLI. */
const SOURCES = 'tools/cli/bin/sources.js';

/** The package of a file, if it is part of what runs there. */
function productPackage(file: string): string | undefined {
  if (file === SOURCES) return undefined;
  const [folder, name, inside] = file.split('/');
  return folder === 'tools' && name !== 'lab' && inside !== 'test' && !TEST.test(file) ? name : undefined;
}

/** Returns the packages of the workspace, each with those that it uses, directly or not. The CLI starts all of them. */
function packages(): Map<string, Set<string>> {
  const names = new Set(lines(git('ls-files', 'tools')).flatMap((file) => productPackage(file) ?? []));
  const uses = (name: string): Iterable<string> => {
    if (name === 'cli') return names;
    const { dependencies = {}, devDependencies = {} } = JSON.parse(
      readFileSync(join(root, 'tools', name, 'package.json'), 'utf8'),
    );
    const used = Object.keys({ ...dependencies, ...devDependencies }).map((one) => one.replace('@callboard/', ''));
    return used.filter((one) => names.has(one));
  };
  return new Map([...names].map((name) => [name, closure(name, uses)]));
}

function closure(start: string, next: (one: string) => Iterable<string>): Set<string> {
  const found = new Set([start]);
  for (const one of found) for (const other of next(one)) found.add(other);
  return found;
}

/** Returns the files that a source file names. Tests in `e2e` run what is built or packed. */
function named(file: string): string[] {
  if (!CODE.test(file)) return [];
  const texts = [...readFileSync(join(root, file), 'utf8').matchAll(LITERAL)].map(([, , text = '']) => text);
  const paths = texts.map((text) => {
    const [, tool] = /^@callboard\/([\w-]+)/.exec(text) ?? [];
    return tool ? `tools/${tool}/package.json` : normalize(join(dirname(file), text));
  });
  if (file.startsWith('e2e/')) paths.push('scripts/build.ts', 'scripts/pack.ts');
  return paths.filter((path) => /^[^.].*\.\w+$/.test(path) && existsSync(join(root, path)));
}

/**
 * Returns which of these test files the changed files can break: a test needs every file that it names, directly or not, and the
 * whole of each package from which it needs a file; tests in `e2e` need all packages. `all` if nobody knows what needs a file.
 */
export function touchedBy(changed: readonly string[], tests: readonly string[]): string[] | 'all' {
  const names = new Map<string, string[]>();
  const namesOf = (file: string) => names.getOrInsertComputed(file, named);
  const used = packages();
  const touched = changed.filter((file) => !HARMLESS.test(file) && !TEST.test(file));
  const known = new Set<string>();
  const found = tests.filter((test) => {
    const needs = closure(test, namesOf);
    const tools = new Set(
      test.startsWith('e2e/')
        ? used.keys()
        : [...needs].flatMap((file) => [...(used.get(productPackage(file) ?? '') ?? [])]),
    );
    const breaking = touched.filter((file) => needs.has(file) || tools.has(productPackage(file) ?? ''));
    for (const file of breaking) known.add(file);
    return breaking.length > 0 || changed.includes(test);
  });
  return touched.every((file) => known.has(file)) ? found : 'all';
}

/** Which tests of a file run, and which files. */
export const MAIN_SCENES = { CALLBOARD_TEST_MAIN: '1' };
export const ALL_VARIANTS = { CALLBOARD_TEST_ALL: '1' };

/** Returns the test files that run, relative to the root. @param parts of their paths; without any, of all */
function listed(which: Record<string, string>, parts: string[] = []): string[] {
  const text = output('npx', ['vitest', 'list', '--filesOnly', ...parts], { ...process.env, ...which });
  return lines(text).map((line) => line.replace(/^\[[\w-]+\] /, ''));
}

/**
 * Returns the test files of which `npm test` leaves out something that was changed since all passed. `all` if it is unknown what
 * was changed, or what needs it.
 */
export function touchedTests(): string[] | 'all' {
  const proven = readFileSync(join(root, provenFile), 'utf8').trim();
  try {
    git('cat-file', '-e', `${proven}^{commit}`);
  } catch {
    return 'all'; // a shallow clone
  }
  const changed = lines(git('diff', '--name-only', '--no-renames', proven));
  const [all, usual] = [listed({}), new Set(listed(MAIN_SCENES))];
  const touched = touchedBy(changed, all);
  if (touched === 'all') return 'all';
  const apart = touched.filter((file) => !usual.has(file));
  // Vitest takes a path for the end of others: `board.e2e.test.ts` for that of `keyboard.e2e.test.ts` too.
  return apart.length === 0
    ? []
    : listed(
        {},
        apart.map((file) => join(root, file)),
      );
}

/** Notes that all that was changed until the newest commit is proven. */
export function noteProven(): void {
  if (git('status', '--porcelain') !== '') return;
  const head = git('rev-parse', 'HEAD');
  writeFileSync(join(root, provenFile), `${head}\n`);
  console.log(`all is proven at ${head}: commit ${provenFile}, so that CI need not repeat it`);
}
