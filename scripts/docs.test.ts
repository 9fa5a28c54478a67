/** Checks that everything that the README and `docs/` name exists in the code. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, relative } from 'node:path';
import {
  eventData,
  commands as orchestratorCommands,
  ProblemCode,
  type StageField,
  stageFields,
  stageFieldsWith,
  streamEventData,
} from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { commands } from '../tools/cli/src/run.ts';
import { routes, serviceRoutes } from '../tools/contract/src/client/routes.ts';
import { reference } from './write-api-docs.ts';
import { kindFiles } from './write-kinds.ts';

const root = join(import.meta.dirname, '..');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
  .toString()
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(root, file)));
/** What a build writes and git does not have, as of the present sources. */
const built = new Map([['docs/reference.md', reference()]]);
const read = (file: string): string => built.get(file) ?? readFileSync(join(root, file), 'utf8');
const pages = tracked.filter((file) => /^(README\.md|docs\/.*\.md|tools\/[^/]+\/README\.md)$/.test(file));
/** Decisions describe the day they were made; all other pages describe the present. */
const current = pages.filter((file) => !file.startsWith('docs/decisions/'));
const code = tracked.filter((file) => /\.(tsx?|js|json|yaml|sh)$/.test(file) && !file.endsWith('package-lock.json'));
const wholeCode = code.map(read).join('\n');

/** The text without its code blocks. */
const prose = (page: string): string => read(page).replace(/^( *)```[\s\S]*?^ *```/gm, '');
const spans = (page: string): string[] => [...prose(page).matchAll(/`([^`]+)`/g)].map(([, span]) => span ?? '');
/** Everything that could be typed into a shell: code spans and lines of code blocks. */
const typed = (page: string): string[] => [
  ...spans(page),
  ...[...read(page).matchAll(/^ *```[\s\S]*?^ *```/gm)].flatMap(([block]) => block.split('\n')),
];

/** Returns the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/[`*]|\]\([^)]*\)/g, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
const anchorsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading ?? ''));

/** Returns a route with each field as `:`, without punctuation at its end. */
const shapeOf = (path: string): string => path.replaceAll(/:\w+|\{\w+\}|\.\.\./g, ':').replace(/\.$/, '');
/** The routes of the contract, and those that the web server adds. */
const allRoutes = new Set([
  ...Object.values({ ...routes, ...serviceRoutes }).map(({ method, path }) => `${method} ${shapeOf(path)}`),
  ...[...wholeCode.matchAll(/\bapp\.(get|post|put|patch|delete)\(\s*['"`](\/[^'"`]+)['"`]/g)].map(
    ([, method = '', path = '']) => `${method.toUpperCase()} ${shapeOf(path)}`,
  ),
]);

describe.each(pages)('%s', (page) => {
  it('has no broken links', () => {
    const links = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : relative(root, join(root, dirname(page), path));
      if (!built.has(target) && !existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

describe.each(current)('%s', (page) => {
  it('names only source files that exist', () => {
    const named = spans(page).filter((span) => /^[\w./*@-]+\.(tsx?|sh)$/.test(span) && !span.startsWith('@'));
    const exists = (path: string) => tracked.some((file) => matchesGlob(file, path) || matchesGlob(file, `**/${path}`));
    expect(named.filter((path) => !exists(path))).toEqual([]);
  });

  it('names only npm scripts, callboard commands and options that exist', () => {
    const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));
    const unknown = typed(page).flatMap((line) => {
      const script = /\bnpm (?:run ([\w:-]+)|(start|test)\b)/.exec(line);
      const given = script?.[1] ?? script?.[2];
      if (given !== undefined && scripts[given] === undefined) return [`npm run ${given}`];
      return unknownToCallboard(line);
    });
    expect(unknown).toEqual([]);
  });

  it('names only variables that Callboard reads', () => {
    const variables = [...read(page).matchAll(/\bCALLBOARD_[A-Z0-9_]+\b/g)].map(([name]) => name);
    expect([...new Set(variables)].filter((name) => !wholeCode.includes(name))).toEqual([]);
  });

  it('names only routes that exist', () => {
    const named = [...read(page).matchAll(/\b(GET|POST|PATCH|PUT|DELETE) (\/(?:api|login)[^\s`"')?,;]*)/g)];
    const unknown = named.filter(([, method = '', path = '']) => !allRoutes.has(`${method} ${shapeOf(path)}`));
    expect(unknown.map(([whole]) => whole)).toEqual([]);
  });
});

/** Identifiers that belong neither to the CLI nor to git must occur in the code. */
it.each(['docs/api.md', 'docs/events.md', 'docs/architecture.md', 'docs/interactive-tools.md', 'README.md'])(
  '%s names only identifiers that the code has',
  (page) => {
    const identifiers = spans(page)
      .map((span) => span.replace(/\(.*\)$/, ''))
      .filter((span) => /^[a-z][a-zA-Z]*([A-Z_.-][a-zA-Z]+)+$/.test(span))
      .flatMap((span) => span.split('.'));
    const known = new Set<string>([
      ...Object.keys(orchestratorCommands),
      ...Object.keys(eventData),
      ...Object.keys(streamEventData),
      ...ProblemCode.options,
    ]);
    const isKnown = (name: string) => known.has(name) || wholeCode.includes(name);
    expect([...new Set(identifiers)].filter((name) => !isKnown(name))).toEqual([]);
  },
);

it('the lists of request kinds are those that scripts/write-kinds.ts writes', () => {
  for (const [path, text] of kindFiles(root)) expect(read(path), path).toBe(text);
});

it.each([
  ['A field of a stage', /\bautoStart\b/],
  ['A route', /\backnowledge_denial\b/],
])('docs/architecture.md lists the files of a first change: %s', (heading, name) => {
  const [, section = ''] = read('docs/architecture.md').split(`### ${heading}\n`);
  const [own = ''] = section.split(/^##/m);
  const listed = [...own.matchAll(/^\| `([^`]+)`/gm)].map(([, path]) => `tools/${path}`);
  const files = code.filter((file) => /^(tools\/[^/]+\/src|scripts)\//.test(file) && !file.includes('.test.'));
  expect(listed.toSorted()).toEqual(files.filter((file) => name.test(read(file))).toSorted());
});

it('docs/guide.md lists the keys of the Markdown file of a stage, those last that only an import takes over', () => {
  const [, item = ''] = read('docs/guide.md').split('**Markdown files**');
  const [list = ''] = item.split('Its body');
  const named = [...list.matchAll(/`(\w+)`/g)].map(([, key]) => key);
  const files = stageFieldsWith('file').map((key): StageField['file'] => stageFields[key].file);
  const keys = (needsPerson: boolean) =>
    files.flatMap((file) => (!file?.needsPerson === needsPerson ? [] : [file?.key]));
  const last = keys(true).length;
  expect(named.slice(0, -last).toSorted()).toEqual(['id', 'title', 'status', ...keys(false)].toSorted());
  expect(named.slice(-last).toSorted()).toEqual(keys(true).toSorted());
});

it('docs/security.md quotes titles of tests that exist', () => {
  const quoted = /([\w./-]+\.test\.tsx?)`?,? ((?:"[^"]+"(?:, | and )?)+)/g;
  const missing = [...read('docs/security.md').matchAll(quoted)].flatMap(([, path = '', titles = '']) => {
    const tests = code.filter((file) => file === path || file.endsWith(`/${path}`)).map(read);
    const isMissing = (title: string) => !tests.some((text) => text.includes(title));
    return [...titles.matchAll(/"([^"]+)"/g)].flatMap(([, title = '']) => (isMissing(title) ? [title] : []));
  });
  expect(missing).toEqual([]);
});

function unknownToCallboard(line: string): string[] {
  const given = /(?:^|[\s/])(?:npx callboard|callboard|npm (?:start|run demo) --)((?: +[^\s|`;&>]+)+)/.exec(line)?.[1];
  if (given === undefined) return [];
  const words = given.trim().split(/ +/);
  const [first = ''] = words;
  const isCommand = /^[a-z][a-z-]*$/.test(first) && !line.includes('npm ');
  if (isCommand && !commands.some(({ name }) => name === first)) return [`callboard ${first}`];
  const flags = commands.flatMap(({ flags: some }) =>
    some.flatMap((flag) => (flag.kind === 'switch' ? [flag.name, `no-${flag.name}`] : [flag.name])),
  );
  const options = words.filter((word) => word.startsWith('--') && word !== '--');
  return options.filter((option) => !['help', 'version', ...flags].includes(option.slice(2).replace(/=.*/, '')));
}
