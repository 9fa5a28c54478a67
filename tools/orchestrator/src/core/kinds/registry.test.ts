import { PendingRequest } from '@callboard/contract';
import { expect, it } from 'vitest';
import { sampleAsk } from '../../../test/support/test-session.ts';
import { requestKinds } from './registry.ts';

const request = (kind: string, input: Record<string, unknown>): PendingRequest =>
  PendingRequest.parse({
    ...sampleAsk({ displayName: 'tickets', input }),
    agent: null,
    stageId: 'S1',
    requestId: 'r1',
    kind,
    createdAt: '2026-01-02T03:04:05.000Z',
  });
const questions = ['Which?', 'How many?'].map((question) => ({
  question,
  header: 'H',
  multiSelect: false,
  options: [{ label: 'A', description: '' }],
}));

it.each([
  ['approval', { command: 'cat /w/a.txt' }, 'Bash cat a.txt'],
  ['question', { questions }, 'Which? How many?'],
  ['plan', { plan: '# Plan\n\n1. Build it' }, '# Plan 1. Build it'],
  ['elicitation', { message: 'Who are you?' }, 'tickets: Who are you?'],
  ['network', { host: 'registry.example' }, 'Network registry.example'],
])('describes a request of kind %s in one line', (kind, input, expected) => {
  const asked = request(kind, input);
  expect(requestKinds[asked.kind].describe(asked, '/w')).toBe(expected);
});

it('truncates a long description to 200 characters', () => {
  expect(requestKinds.plan.describe(request('plan', { plan: 'word '.repeat(100) }), null)).toHaveLength(200);
});
