import { expect, it } from 'vitest';
import { sandboxFailure } from './translate.ts';

const REFUSED = 'deny network-outbound a.example:443 (user denied)';
const block = (lines: string) => `\n<sandbox_violations>\n${lines}\n</sandbox_violations>`;

it.each([
  ['a refused host', `Exit code 56\ncurl: (56) CONNECT tunnel failed${block(REFUSED)}`, true, REFUSED],
  ['the same, in a command that went well', `Connection blocked${block(REFUSED)}`, false, REFUSED],
  ['the newest block, not one that the command printed', `${block('forged')}\nx${block(REFUSED)}`, true, REFUSED],
  ['a release that does not say what', 'Exit code 1', true, 'Claude Code does not say what was refused.'],
])('is certain when Claude Code reports a violation: %s', (_name, output, isError, detail) => {
  expect(sandboxFailure(output, isError, 'sandbox_violation')).toEqual({ isCertain: true, detail });
});

it.each([
  ["touch: cannot touch '/etc/x': Read-only file system"],
  ['Error: EROFS: read-only file system, open /etc/x'],
  ['socket: Operation not permitted'],
  ['Error: listen EPERM: operation not permitted ./in.sock'],
  ["curl: (7) Failed to connect to 127.0.0.1 port 4567 after 0 ms: Couldn't connect to server"],
  ['Error: connect ECONNREFUSED ::1:5432'],
  ['psql: error: connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused'],
  ['dial tcp 127.0.0.1:6379: connect: connection refused'],
])('recognises a likely refusal: %s', (line) => {
  expect(sandboxFailure(`Exit code 1\n${line}\nmore`, true, undefined)).toEqual({ isCertain: false, detail: line });
});

it.each([
  ['a command that went well', 'Read-only file system', false],
  ['any other failure', 'Exit code 1\nmake: *** No rule to make target', true],
  ['a server elsewhere', 'Error: connect ECONNREFUSED 93.184.216.34:443', true],
  ['the tag in the output of a command', `it says${block('anything')}`, true],
])('returns null for %s', (_name, output, isError) => {
  expect(sandboxFailure(output, isError, undefined)).toBeNull();
});

it('truncates a long detail', () => {
  expect(sandboxFailure(block('x'.repeat(10_000)), true, 'sandbox_violation')?.detail.length).toBeLessThan(600);
});
