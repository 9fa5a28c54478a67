import fc from 'fast-check';
import { expect, it } from 'vitest';
import { answerSchema, readAnswer } from './ask-claude.ts';

const printed = (fields: object) =>
  `a warning\n${JSON.stringify({ type: 'result', subtype: 'success', is_error: false, total_cost_usd: 0.5, ...fields })}\n`;
const finding = { path: 'a.ts', side: 'new', line: 3, severity: 'low', text: 'Name it.' };

it('reads a review and a text, with what they cost', () => {
  const review = { summary: 'Good.', findings: [finding, { ...finding, endLine: 5 }, { ...finding, endLine: 1 }] };
  expect(readAnswer('review', printed({ structured_output: review }))).toEqual({
    kind: 'review',
    costUsd: 0.5,
    summary: 'Good.',
    findings: [finding, { ...finding, endLine: 5 }, finding],
  });
  const text = { title: ' Log\nin ', body: 'Why.\n' };
  expect(readAnswer('pull-request', printed({ structured_output: text }))).toEqual({
    kind: 'pull-request',
    costUsd: 0.5,
    text: { title: 'Log in', body: 'Why.' },
  });
});

it.each([
  ['nothing', '', 'Claude Code gave no answer. It said nothing.'],
  ['no JSON', 'error: unknown option\n', 'Claude Code gave no answer. It said: error: unknown option'],
  ['half a line', '{"type":"result","struc', 'Claude Code gave no answer. It said: {"type":"result","struc'],
  [
    'text alone',
    printed({ result: 'All fine.' }),
    'Claude did not answer in the form that was asked for. It said: All fine.',
  ],
  ['an error', printed({ is_error: true, result: 'Not logged in' }), 'Claude could not answer. It said: Not logged in'],
  [
    'a wrong shape',
    printed({ structured_output: { summary: 'x', findings: [{ ...finding, line: 0 }] } }),
    expect.stringContaining('wrong form (findings.0.line'),
  ],
])('says why an answer cannot be used: %s', (_, output, reason) => {
  expect(readAnswer('review', output)).toMatchObject({ kind: 'none', reason });
});

it('names the usage limit that refused the answer, or that one did', () => {
  const refused = { is_error: true, api_error: 'usage_limit_reached', result: 'You’ve hit your limit' };
  const reason = 'The usage limit of the account was reached. Try again once it has reset.';
  expect(readAnswer('review', printed(refused))).toMatchObject({ reason, limit: { window: null, resetsAt: null } });
  const rate_limit_info = { status: 'rejected', rateLimitType: 'five_hour', resetsAt: 1_893_456_000 };
  const reported = printed({ ...refused, api_error_params: { type: 'rate_limit_event', rate_limit_info } });
  expect(readAnswer('pull-request', reported)).toMatchObject({
    limit: { window: 'five_hour', resetsAt: '2030-01-01T00:00:00.000Z' },
  });
});

it('never fails, whatever is printed', () => {
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (noise, answer) => {
      const { kind } = readAnswer('review', `${noise}\n${printed({ structured_output: answer })}`);
      expect(['review', 'none']).toContain(kind);
    }),
  );
});

it('asks for answers in a schema that names every field', () => {
  expect(answerSchema('review')).toMatchObject({ type: 'object', required: ['summary', 'findings'] });
  expect(answerSchema('pull-request')).toMatchObject({ required: ['title', 'body'] });
});
