import { expect, it } from 'vitest';
import { hasPart, ruleMatch } from './rule-match.ts';

const bash = (command: string) => ({ toolName: 'Bash', input: { command } });

// Each `yes` was tried with Claude Code 2.1.330: it ran the command without asking.
it.each([
  ['Bash(touch a)', 'touch a', 'yes'],
  ['Bash(touch a)', 'touch a 2>&1', 'yes'],
  ['Bash(touch a)', 'touch a > /dev/null', 'yes'],
  ['Bash(touch a)', 'touch a >/dev/null 2>&1', 'yes'],
  ['Bash(touch a)', 'touch a && touch a', 'yes'],
  ['Bash(touch *)', 'touch a b', 'yes'],
  ['Bash(touch:*)', 'touch a', 'yes'],
  ['Bash', 'rm -rf x', 'yes'],
  ['Bash(*)', 'rm -rf x', 'yes'],
  ['Bash(touch a)', 'touch a b', 'no'],
  ['Bash(touch a)', 'touch a > out', 'no'],
  ['Bash(touch *)', 'touch a > out', 'unsure'],
  ['Bash(touch a)', 'touch a; rm x', 'unsure'],
  ['Bash(touch a)', 'ls && touch a', 'unsure'],
  ['Bash(touch *)', 'touch $X', 'unsure'],
  ['Bash(touch *)', 'touches', 'unsure'],
  ['Bash(npm *)', 'git status', 'no'],
  ['Read', 'cat a', 'no'],
])('compares %s with "%s": %s', (rule, command, match) => {
  expect(ruleMatch(rule, bash(command))).toBe(match);
});

it('takes the other rules into account for the parts of a compound command', () => {
  const both = bash('npm run lint && npm test');
  expect(ruleMatch('Bash(npm test)', both)).toBe('unsure');
  expect(ruleMatch('Bash(npm test)', both, ['Bash(npm run *)'])).toBe('yes');
  expect(ruleMatch('Bash(npm test)', bash('npm run lint && npm test; rm x'), ['Bash(npm run *)'])).toBe('unsure');
});

it.each([
  ['WebFetch(domain:example.org)', 'WebFetch', { url: 'https://example.org/a' }, 'yes'],
  ['WebFetch(domain:example.org)', 'WebFetch', { url: 'https://example.org.evil.test/' }, 'no'],
  ['WebFetch(domain:example.org)', 'WebFetch', { url: 'https://x@evil.test/#example.org' }, 'no'],
  ['WebFetch', 'WebFetch', { url: 'https://example.org/a' }, 'yes'],
  ['mcp__tracker__list', 'mcp__tracker__list', {}, 'yes'],
  ['mcp__tracker', 'mcp__tracker__list', {}, 'yes'],
  ['mcp__tracker__*', 'mcp__tracker__list', {}, 'yes'],
  ['mcp__tracker', 'mcp__trackers__list', {}, 'no'],
  ['Edit(//srv/**)', 'Write', { file_path: '/srv/a' }, 'yes'],
  ['Read(//srv/**)', 'Write', { file_path: '/srv/a' }, 'no'],
])('compares %s with %s %o: %s', (rule, toolName, input, match) => {
  expect(ruleMatch(rule, { toolName, input })).toBe(match);
});

it('finds a rule in a part of a command', () => {
  expect(hasPart('Bash(npm test)', bash('ls && npm test 2>&1 | tail -5'))).toBe(true);
  expect(hasPart('Bash(npm test)', bash('ls && npm test:e2e'))).toBe(false);
  expect(hasPart('Bash(npm test)', bash('npm test $(id)'))).toBe(false);
});
