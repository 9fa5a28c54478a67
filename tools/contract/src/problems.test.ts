import { expect, it } from 'vitest';
import { sampleDecision } from '../test/samples.ts';
import { CommandError, Problem, ProblemCode, problems } from './problems.ts';

const codes = Object.entries(problems).map(([code, { status }]) => [code, status] as const);

it.each(codes)('maps %s to the HTTP error status %i', (code, status) => {
  expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(600);
  expect(ProblemCode.parse(code)).toBe(code);
});

it.each([
  [
    'what is not there',
    404,
    ['not_found', 'unknown_stage', 'unknown_project', 'unknown_request', 'unknown_message', 'no_session'],
  ],
  ['an answer that came second', 409, ['already_decided', 'request_closed']],
  [
    'what the stage does not allow now',
    409,
    ['already_running', 'already_done', 'waits_for_dependency', 'stage_running', 'not_running'],
  ],
  ['a person who is not logged in', 401, ['not_logged_in', 'bad_login_link']],
  ['what may work later', 503, ['orchestrator_unreachable', 'starting', 'storage_failed', 'no_confirmation']],
] as const)('keeps the status of %s at %i', (_what, status, its) => {
  for (const code of its) expect(problems[code].status).toBe(status);
});

it('has no other code', () => {
  expect(ProblemCode.safeParse('teapot').success).toBe(false);
  expect(ProblemCode.safeParse('toString').success).toBe(false);
});

it('carries the decision that won along with a refusal', () => {
  const error = { code: 'already_decided', message: 'Bo was faster', decision: sampleDecision() };
  expect(CommandError.parse(error)).toEqual(error);
  const body = { type: 'about:blank', title: 'Conflict', status: 409, detail: 'Bo was faster', code: error.code };
  expect(Problem.parse({ ...body, decision: error.decision }).decision).toEqual(sampleDecision());
  expect(Problem.parse(body).decision).toBeUndefined();
});
