import { describe, expect, it } from 'vitest';
import { ruleMatch } from './rule-match.ts';

const FOLDER = '/w/shop';
const FILES = ['src/a.ts', 'src/deep/b.ts', 'Src/c.ts', 'docs/one.md', 'docs/two.md', 'top.txt', 'lib/src/x.ts'];
const OTHERS = ['lib/top.txt', 'src/we ird.ts', 'src/[id].ts', 'srcfile.ts'];
const IN_SRC = ['src/a.ts', 'src/deep/b.ts', 'Src/c.ts', 'src/we ird.ts', 'src/[id].ts'];
const TYPESCRIPT = [...IN_SRC, 'lib/src/x.ts', 'srcfile.ts'];

const write = (path: string) => ({ toolName: 'Write', input: { file_path: path }, folder: FOLDER });
const covered = (rule: string) =>
  [...FILES, ...OTHERS].filter((file) => ruleMatch(rule, write(`${FOLDER}/${file}`)) === 'yes').toSorted();

describe('a rule about files', () => {
  // What Claude Code 2.1.330 let through without asking.
  it.each([
    ['Edit(src/**)', IN_SRC],
    ['Edit(./src/**)', IN_SRC],
    ['Edit(SRC/**)', IN_SRC],
    ['Edit(src/*)', IN_SRC],
    ['Edit(src)', [...IN_SRC, 'lib/src/x.ts']],
    ['Edit(src/)', [...IN_SRC, 'lib/src/x.ts']],
    ['Edit(docs/one.md)', ['docs/one.md']],
    ['Edit(top.txt)', ['top.txt', 'lib/top.txt']],
    ['Edit(./top.txt)', ['top.txt', 'lib/top.txt']],
    ['Edit(//w/shop/src/**)', IN_SRC],
    ['Edit(//w/shop/docs/one.md)', ['docs/one.md']],
    ['Edit(//w/shop/docs)', ['docs/one.md', 'docs/two.md']],
    ['Edit(*.ts)', TYPESCRIPT],
    ['Edit(**/*.ts)', TYPESCRIPT],
    ['Edit(**)', [...FILES, ...OTHERS]],
    ['Edit(src/we ird.ts)', ['src/we ird.ts']],
    ['Write(src/**)', []],
    ['Edit(/src/**)', []],
  ])('%s covers what Claude Code lets through', (rule, files) => {
    expect(covered(rule)).toEqual(files.toSorted());
  });

  it.each([
    ['what it cannot read', 'Edit(src/[id].ts)', 'src/i.ts'],
    ['a path from the settings file', 'Edit(/src/**)', 'src/a.ts'],
    ['a path from the home folder', 'Edit(~/src/**)', 'src/a.ts'],
    ['what Claude Code protects', 'Edit(**)', '.vscode/x.json'],
    ['a path that goes up', 'Edit(src/**)', 'src/../top.txt'],
  ])('is unsure about %s', (_, rule, file) => {
    expect(ruleMatch(rule, write(`${FOLDER}/${file}`))).toBe('unsure');
  });

  it('surely does not cover another file, nor one outside of the folder that it is relative to', () => {
    expect(ruleMatch('Edit(src/**)', write(`${FOLDER}/lib/a.ts`))).toBe('no');
    expect(ruleMatch('Edit(src/**)', write('/w/other/src/a.ts'))).toBe('no');
    expect(ruleMatch('Edit(src/**)', { ...write(`${FOLDER}/src/a.ts`), folder: null })).toBe('unsure');
    expect(ruleMatch('Edit(src/**)', write('src/a.ts'))).toBe('yes');
    expect(ruleMatch('Edit(//w/shop/docs/**)', write(`${FOLDER}/docs`))).toBe('no');
  });

  it.each([
    ['NotebookEdit', { notebook_path: '/w/shop/src/a.ipynb' }, 'Edit(src/**)', 'yes'],
    ['Read', { file_path: '/etc/.conf/hosts' }, 'Read(//etc/**)', 'yes'],
    ['Read', { file_path: '/etc/hosts' }, 'Read(//var/**)', 'no'],
    ['Grep', { path: '/etc', pattern: 'a' }, 'Read(//etc)', 'unsure'],
    ['Write', { file_path: '/w/shop/a' }, 'Write', 'yes'],
    ['Write', { file_path: '/w/shop/a' }, 'Edit', 'no'],
  ])('compares %s', (toolName, input, rule, match) => {
    expect(ruleMatch(rule, { toolName, input, folder: FOLDER })).toBe(match);
  });
});

describe('a rule about a site', () => {
  // As Claude Code 2.1.330 lets through.
  it.each([
    ['domain:example.org', 'https://example.org:8443/a', 'yes'],
    ['domain:example.org', 'https://sub.example.org/', 'no'],
    ['domain:*.example.org', 'https://a.b.EXAMPLE.org/', 'yes'],
    ['domain:*.example.org', 'https://example.org/', 'no'],
    ['domain:*.example.org', 'https://notexample.org/', 'no'],
    ['domain:ex*mple.org', 'https://example.org/', 'unsure'],
  ])('%s and %s: %s', (content, url, match) => {
    expect(ruleMatch(`WebFetch(${content})`, { toolName: 'WebFetch', input: { url } })).toBe(match);
  });
});
