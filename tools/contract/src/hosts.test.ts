import { expect, it } from 'vitest';
import { hostRule } from './hosts.ts';

it.each([
  ['registry.npmjs.org', 'registry.npmjs.org'],
  ['Registry.NPMJS.org.', 'registry.npmjs.org'],
  ['localhost', 'localhost'],
  ['a_b.example', 'a_b.example'],
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '[::1]'],
  ['[::ffff:10.0.0.1]', '[::ffff:10.0.0.1]'],
])('keeps %s as the one host that it is', (host, rule) => {
  expect(hostRule(host)).toBe(rule);
});

it.each([
  '*.example.com',
  '*',
  'example.com:8080',
  'a,b.example',
  'a)b.example',
  'a b.example',
  'a\u202eb.example',
  'http://example.com',
  'example..com',
  '-a.example',
  '.example',
  '',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(130)}example`,
])('keeps no rule for "%s", which may stand for more than one host', (host) => {
  expect(hostRule(host)).toBeNull();
});
