import type { PendingRequest } from '@callboard/contract';
import { expect, it } from 'vitest';
import { request } from '../../../test/samples.ts';
import { requestKinds } from './registry.ts';

const isShort = (asked: PendingRequest) => requestKinds[asked.kind].isDecidableOnCard(asked);

it('offers a short command for decision on its card', () => {
  expect(isShort(request('STAGE-1', 'r'))).toBe(true);
});

it('offers a plain host for decision on its card', () => {
  expect(isShort(request('STAGE-1', 'r', { kind: 'network', input: { host: 'packages.example.com' } }))).toBe(true);
});

it.each([
  ['a long command', { input: { command: 'x'.repeat(61) } }],
  ['a command of several lines', { input: { command: 'a\nb' } }],
  ['an edit', { toolName: 'Edit', input: { file_path: 'a.ts', old_string: 'a', new_string: 'b' } }],
  ['a question', { kind: 'question', toolName: 'AskUserQuestion', input: { questions: [] } }],
  ['a command that leaves the sandbox', { leavesSandbox: { reason: null } }],
  ['this machine as a host', { kind: 'network', input: { host: '127.0.0.1' } }],
  ['a host with hidden characters', { kind: 'network', input: { host: 'a\u202eb.example' } }],
  ['a host without a name', { kind: 'network', input: {} }],
  ['an unknown tool', { toolName: 'mcp__x__y', input: { a: 'b' } }],
])('does not offer %s for decision on its card', (_, change) => {
  expect(isShort(request('STAGE-1', 'r', change))).toBe(false);
});
