import { expect, it } from 'vitest';
import { denyingRule } from './session-watches.ts';

const bash = (command: string) => ({ toolName: 'Bash', input: { command } });
const read = (file_path: string) => ({ toolName: 'Read', input: { file_path } });
const ruleFor = (rules: string[], call: Parameters<typeof denyingRule>[1]) => denyingRule(rules, call, '/home/ada');

it('returns the only rule that matches', () => {
  const rules = ['Bash(npm run *)', 'Bash(curl *)', 'Read(//etc/**)', 'Read(~/secret/**)'];
  expect(ruleFor(rules, bash('touch x && npm run foo'))).toBe('Bash(npm run *)');
  expect(ruleFor(rules, read('/etc/hosts'))).toBe('Read(//etc/**)');
  expect(ruleFor(rules, read('/home/ada/secret/key'))).toBe('Read(~/secret/**)');
  expect(ruleFor(['Read(//etc)'], read('/etc/hosts'))).toBe('Read(//etc)');
  expect(ruleFor(['Edit(//etc/**)'], { toolName: 'Write', input: { file_path: '/etc/hosts' } })).toBe('Edit(//etc/**)');
});

it('returns null when no rule matches, or several do', () => {
  expect(ruleFor(['Bash(npm run *)'], bash('make'))).toBeNull();
  expect(ruleFor(['Bash(npm *)', 'Bash(npm run *)'], bash('npm run foo'))).toBeNull();
  expect(ruleFor(['Read(//etc/**)'], read('/srv/x'))).toBeNull();
  expect(ruleFor(['Read(./a/**)', 'Read(/b/**)'], read('/w/a/x'))).toBeNull(); // relative to an unknown folder
});
