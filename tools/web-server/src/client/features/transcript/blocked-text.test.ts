import { expect, it } from 'vitest';
import { blockedText } from './tool-card.tsx';

it('names each blocked host once', () => {
  const line = 'deny network-outbound nowhere.invalid:8080 (user denied)';
  const { blocked, hint } = blockedText(`${line}\n${line}\ndeny network-outbound b.example:443 (user denied)\n`);
  expect(blocked).toBe('nowhere.invalid:8080, b.example:443');
  expect(hint).toContain('asked');
});

it('keeps unknown lines, and counts those beyond the limit', () => {
  expect(blockedText('deny file-write /etc/hosts')).toEqual({ blocked: 'deny file-write /etc/hosts', hint: '' });
  const many = Array.from({ length: 7 }, (_, n) => `deny network-outbound h${n}.example:443 (user denied)`);
  expect(blockedText(many.join('\n')).blocked).toMatch(/h4\.example:443 and 2 more$/);
  expect(blockedText('').blocked).toBe('something it does not name');
});

it('explains that a command cannot reach another command’s server', () => {
  const { hint } = blockedText('Error: connect ECONNREFUSED 127.0.0.1:3000');
  expect(hint).toContain('has its own network');
});
