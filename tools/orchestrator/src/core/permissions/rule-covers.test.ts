import { expect, it } from 'vitest';
import { ruleCovers } from './rule-match.ts';

const bash = (command: string) => ({ toolName: 'Bash', input: { command } });

it.each([
  ['Bash', 'touch a', true],
  ['Bash(*)', 'touch a', true],
  ['Bash(touch *)', 'touch a', true],
  ['Bash(touch:*)', 'touch a', true],
  ['Bash(touch *)', 'ls && touch a', true],
  ['Bash(git * main)', 'git push main', true],
  ['Bash(git * main)', 'git push other', false],
  ['Bash(touch *)', 'ls -la', false],
  ['Bash(touch a)', 'touch a', true],
  ['Bash(touch a)', 'touch ab', false],
  ['Read', 'cat a', false],
])('matches %s with the command "%s": %s', (rule, command, covers) => {
  expect(ruleCovers(rule, bash(command))).toBe(covers);
});

it.each([
  ['Edit(/src/**)', 'Write', true],
  ['mcp__tracker', 'mcp__tracker__list', true],
  ['mcp__tracker__*', 'mcp__tracker__list', true],
  ['mcp__tracker', 'mcp__trackers__list', false],
  ['WebFetch(domain:example.org)', 'WebFetch', true],
  ['WebFetch', 'WebSearch', false],
])('matches %s with the tool %s: %s', (rule, toolName, covers) => {
  expect(ruleCovers(rule, { toolName, input: {} })).toBe(covers);
});
