import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ruleMatch } from '../../core/permissions/rule-match.ts';
import { exactRules } from './rules.ts';

const bash = (command: string) => ({ toolName: 'Bash', input: { command } });

it.each([
  ['npm test', ['Bash(npm test)']],
  [' npm test\n', ['Bash(npm test)']],
  ['npm run lint && npm test', ['Bash(npm run lint)', 'Bash(npm test)']],
  ['npm test; npm test', ['Bash(npm test)']],
  ['npm test | tail -5', ['Bash(npm test)']],
  ['git commit -m "a; b"', ['Bash(git commit -m "a; b")']],
  ["git commit -m 'it is $5'", ["Bash(git commit -m 'it is $5')"]],
])('offers exact rules for %s', (command, rules) => {
  expect(exactRules(bash(command))).toEqual(rules);
});

it.each([
  ...['npm test > out', 'npm test 2>&1', 'npm test < in', 'npm test &> out', 'cat <<EOF\nx\nEOF', 'npm test <<< x'],
  ...[
    'npm test $(id)',
    'npm test `id`',
    'npm test "$(id)"',
    'npm test $X',
    '$CMD test',
    'npm test "$X"',
    '$' + '{X} a',
  ],
  ...['X=1 npm test', 'npm test &', '(npm test)', '{ npm test; }', 'npm test\nid', 'npm test # hi', 'npm \\\n test'],
  ...[
    'ls *.ts',
    'npm test "*"',
    'if true; then npm test; fi',
    'sudo npm test',
    'eval "npm test"',
    'timeout 5 npm test',
  ],
  ...['npm test;', '&& npm test', '', 'npm test "', "npm test 'a", 'cd x && npm test', 'npm test {a,b}', '! npm test'],
  ...['npm test <(id)', 'npm\u00a0test', 'npm test \u202e', 'echo a\tb', '-x', `npm ${'a'.repeat(300)}`, 'npm test\r'],
  ...["npm 'a\nb'", 'git commit -m "a\nb"', "npm 'a\rb'"], // a rule is one line
])('offers no rule for %j', (command) => {
  // Surrounding white space is no part of a command.
  expect(exactRules(bash(command.replace(/^npm test\r$/, 'npm\rtest')))).toBeNull();
});

it('offers a domain, a tool of a server, and nothing for other tools', () => {
  const fetch = (url: unknown) => exactRules({ toolName: 'WebFetch', input: { url } });
  expect(fetch('https://docs.example.org/a?b')).toEqual(['WebFetch(domain:docs.example.org)']);
  expect(fetch('https://evil.example\\@docs.example.org/')).toEqual(['WebFetch(domain:evil.example)']);
  expect(fetch('file:///etc/passwd')).toBeNull();
  expect(fetch(7)).toBeNull();
  expect(exactRules({ toolName: 'mcp__tracker__list', input: {} })).toEqual(['mcp__tracker__list']);
  expect(exactRules({ toolName: 'WebSearch', input: {} })).toEqual(['WebSearch']);
  expect(exactRules({ toolName: 'Write', input: { file_path: '/a' } })).toBeNull();
});

const word = fc.stringMatching(/^[a-z0-9./_=-]{1,8}$/);
const plain = fc
  .tuple(fc.constantFrom('npm', 'git', 'make', './run.sh', 'node'), fc.array(word, { maxLength: 4 }))
  .map(([name, args]) => [name, ...args].join(' '));
const anything = fc.string({
  unit: fc.constantFrom(...' ab"\'`$(){}<>&;|#!\\*\n\t=-/.é'),
  minLength: 1,
  maxLength: 20,
});

it('never takes a longer command for one that its rule was offered for', () => {
  const joins = fc.constantFrom(';', '&&', '||', '|', '&', '\n', ' > ', ' >> ', ' < ', ' <<', '`', ' $(', ' <(', '>&');
  fc.assert(
    fc.property(plain, joins, anything, (command, join, more) => {
      const rules = exactRules(bash(command));
      if (rules === null) return;
      for (const longer of [`${command}${join}${more}`, `${more}${join}${command}`, `${command}${join}${more})`]) {
        if (isRepeated(longer, command)) continue;
        for (const rule of rules) expect(ruleMatch(rule, bash(longer))).not.toBe('yes');
      }
    }),
  );
});

/** The same command several times, with output to nowhere, is the same. */
const isRepeated = (longer: string, command: string): boolean =>
  longer
    .replaceAll(/ (?:[12]?> ?\/dev\/null|2>&1|< ?\/dev\/null)/g, '')
    .split(/&&|\|\||;|\|/)
    .every((part) => part.trim() === command);

it('makes rules that say exactly what was allowed, whatever the command', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        anything,
        fc.tuple(plain, anything).map(([a, b]) => `${a}${b}`),
      ),
      (command) => {
        const rules = exactRules(bash(command)) ?? [];
        for (const rule of rules) {
          const content = rule.slice('Bash('.length, -1);
          expect(command).toContain(content);
          expect(content.replaceAll(/'[^']*'|"[^"]*"/g, '')).not.toMatch(/[`$(){}<>&;|#!\\*\n]/);
          expect(content).not.toMatch(/[*()\\\n]/);
          expect(ruleMatch(rule, bash(content))).toBe('yes');
        }
      },
    ),
  );
});
