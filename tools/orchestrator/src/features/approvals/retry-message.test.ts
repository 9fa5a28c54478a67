import { Decision, PendingRequest } from '@callboard/contract';
import { expect, it } from 'vitest';
import { sampleAsk } from '../../../test/support/test-session.ts';
import { retryMessage } from './lost-answers.ts';

const AT = '2026-01-02T03:04:05.000Z';
const ids = { stageId: 'S1', requestId: 'r1' };

function message(kind: string, outcome: string, fields: Record<string, unknown> = {}): string {
  const request = PendingRequest.parse({ ...sampleAsk(), ...ids, agent: null, kind, createdAt: AT });
  const decision = Decision.parse({
    ...ids,
    kind,
    toolName: 'Bash',
    toolUseId: 'toolu_1',
    outcome,
    by: 'Ada',
    at: AT,
    waitedMs: 1,
    reason: null,
    answers: null,
    updatedInput: null,
    delivery: 'unknown',
    ...fields,
  });
  return retryMessage(request, decision);
}

it.each([
  ['approval', 'allowed', {}, ['toolu_1', 'It was allowed', '"make"', 'permission is asked for again']],
  ['approval', 'allowed', { updatedInput: { command: 'make test' } }, ['changed by the user', '"make test"']],
  ['approval', 'denied', { reason: 'Not on a Friday' }, ['It was denied', '"make"', 'Not on a Friday']],
  ['approval', 'timed-out', {}, ['Nobody answered', 'not a decision of the user']],
  ['question', 'answered', { answers: { 'Which?': 'A' } }, ['your question', '"Which?": "A"']],
  ['question', 'denied', { reason: 'You choose' }, ['It was declined', 'You choose']],
  ['plan', 'allowed', {}, ['The plan was accepted', 'present the plan again']],
  ['plan', 'denied', { reason: 'Smaller' }, ['your plan', 'declined', 'Smaller']],
  ['elicitation', 'answered', { updatedInput: { name: 'Ada' } }, ['tool server Bash', '"name": "Ada"']],
  ['network', 'allowed', {}, ['request to reach', 'It was allowed.', 'run it again']],
  ['network', 'denied', {}, ['It was denied.', 'go on without it']],
])('describes a request of kind %s that was %s', (kind, outcome, fields, parts) => {
  const text = message(kind, outcome, fields);
  expect(text).toMatch(/^Your process ended just after/);
  for (const part of parts) expect(text).toContain(part);
});

it('never asks Claude to repeat a denied call', () => {
  expect(message('approval', 'denied')).toContain('go on without it');
  expect(message('approval', 'denied')).not.toContain('make the call again');
});

it('does not mention an ended process if only the confirmation was lost', () => {
  const text = message('approval', 'allowed', { lost: { ended: 'turn', writtenAt: AT, endedAt: AT, endReason: '' } });
  expect(text).toMatch(/^The confirmation of the answer to your call of the tool Bash \(tool use toolu_1\) was lost/);
  expect(text).not.toContain('process');
});
