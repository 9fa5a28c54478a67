import { type ApproveBody, PendingRequest } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { allow, answerQuestion, deny, kept, timeOut } from './answers.ts';

const AT = '2026-01-02T03:04:05.000Z';
const requestId = 'r1';

const request = (fields: Record<string, unknown> = {}): PendingRequest =>
  PendingRequest.parse({
    ...{ stageId: 'S1', requestId, kind: 'approval', toolName: 'Bash', displayName: 'Bash', toolUseId: 'u1' },
    ...{ input: { command: 'make' }, description: null, agent: null, reason: null, blockedPath: null },
    ...{ suggestions: [], suppressAlwaysAllow: false, createdAt: AT },
    ...fields,
  });
const body = (fields: Record<string, unknown> = {}) => ({ requestId, decision: 'allow', ...fields }) as ApproveBody;
const refusal = (code: string) => expect.objectContaining({ code, kind: 'rejection' });

describe('a yes', () => {
  it('runs the original input where nothing was changed', () => {
    expect(allow(request(), body()).response).toEqual({ behavior: 'allow' });
  });

  it('sends the changed input, and records it', () => {
    const updatedInput = { command: 'make test' };
    const { response, verdict } = allow(request(), body({ updatedInput }));
    expect(response).toEqual({ behavior: 'allow', updatedInput });
    expect(verdict).toMatchObject({ outcome: 'allowed', updatedInput });
  });

  it('refuses a changed input that would not run: the CLI would make a no of it', () => {
    expect(() => allow(request(), body({ updatedInput: { comand: 'ls' } }))).toThrow(refusal('bad_request'));
    expect(() => allow(request(), body({ updatedInput: {} }))).toThrow(refusal('bad_request'));
  });

  it('grants for the session alone, whatever destination was suggested', () => {
    const rule = { type: 'addRules', rules: [{ toolName: 'Bash' }], behavior: 'allow', destination: 'localSettings' };
    const { response } = allow(request(), body({ updatedPermissions: [rule] }));
    expect(response).toEqual({ behavior: 'allow', updatedPermissions: [{ ...rule, destination: 'session' }] });
  });

  it('does not keep for good what the CLI does not want kept, nor what is no rule', () => {
    const rule = { type: 'addRules', rules: [{ toolName: 'Bash' }], behavior: 'allow', destination: 'session' };
    const always = body({ remember: 'stage', updatedPermissions: [rule] });
    expect(() => allow(request({ suppressAlwaysAllow: true }), always)).toThrow(refusal('bad_request'));
    expect(() => allow(request(), body({ remember: 'stage' }))).toThrow(refusal('bad_request'));
    expect(allow(request(), always).response).toMatchObject({ behavior: 'allow' });
  });

  it('is refused with what would not count: an interrupt, and permissions that the CLI does not take', () => {
    expect(() => allow(request(), body({ interrupt: true }))).toThrow('goes with deny only');
    expect(allow(request(), body({ interrupt: false })).response).toEqual({ behavior: 'allow' });
    const updatedPermissions = [{ type: 'nonsense' }];
    expect(() => allow(request(), body({ updatedPermissions }))).toThrow(refusal('bad_request'));
    const suggested = request({ suggestions: updatedPermissions });
    expect(allow(suggested, body({ updatedPermissions })).response).toMatchObject({ behavior: 'allow' });
  });

  it('to a plan always names the mode that follows', () => {
    const plan = request({ kind: 'plan', toolName: 'ExitPlanMode', input: {} });
    const mode = (name: string) => ({ type: 'setMode', mode: name, destination: 'session' });
    expect(allow(plan, body()).response).toMatchObject({ updatedPermissions: [mode('default')] });
    const chosen = body({ updatedPermissions: [mode('acceptEdits')] });
    expect(allow(plan, chosen).response).toMatchObject({ updatedPermissions: [mode('acceptEdits')] });
  });

  it('to a question is refused: it would tell Claude that nobody answered', () => {
    expect(() => allow(request({ kind: 'question' }), body())).toThrow(refusal('wrong_kind'));
  });

  it('to a form sends what was filled in, if it fits', () => {
    const requested_schema = { properties: { name: { type: 'string' } }, required: ['name'] };
    const form = request({ kind: 'elicitation', input: { message: 'Who?', requested_schema } });
    expect(allow(form, body({ updatedInput: { name: 'Ada' } })).response).toEqual({
      action: 'accept',
      content: { name: 'Ada' },
    });
    expect(() => allow(form, body())).toThrow(refusal('bad_request'));
  });
});

describe('a no', () => {
  it('always has a message, since the CLI takes one without for invalid', () => {
    expect(deny(request(), { reason: 'Use the other one' })).toMatchObject({
      response: { behavior: 'deny', message: 'Use the other one' },
      verdict: { outcome: 'denied', reason: 'Use the other one' },
    });
    for (const reason of [undefined, '', ' \n']) {
      const { response, verdict } = deny(request(), { reason });
      expect(response.message).toMatch(/\w/);
      expect(verdict.reason).toBeNull();
    }
  });

  it('ends the turn only where that was asked for', () => {
    expect(deny(request(), {}).response).not.toHaveProperty('interrupt');
    expect(deny(request(), { interrupt: true }).response).toMatchObject({ interrupt: true });
  });

  it('to a question says that it was declined, and why', () => {
    const question = request({ kind: 'question', toolName: 'AskUserQuestion' });
    expect(deny(question, { reason: 'You choose' })).toMatchObject({
      response: { behavior: 'deny', message: 'The user declined to answer. The reason given: You choose' },
      verdict: { outcome: 'denied', reason: 'You choose' },
    });
    expect(deny(question, {}).response).toMatchObject({
      message: 'The user declined to answer, and gave no reason.',
    });
    expect(timeOut(question).response.message).not.toContain('declined');
  });

  it('to a form declines it', () => {
    expect(deny(request({ kind: 'elicitation' }), { reason: 'No' }).response).toEqual({ action: 'decline' });
  });

  it("that nobody gave says that it is nobody's", () => {
    const { response, verdict } = timeOut(request());
    expect(verdict.outcome).toBe('timed-out');
    expect(response.message).toContain('Nobody answered');
  });
});

describe('the answers to a question', () => {
  const input = { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] };
  const question = request({ kind: 'question', toolName: 'AskUserQuestion', input });

  it('go to the CLI beside the questions', () => {
    const answers = { 'Which?': 'A' };
    const { response, verdict } = answerQuestion(question, { requestId: question.requestId, answers });
    expect(response).toEqual({ behavior: 'allow', updatedInput: { ...input, answers } });
    expect(verdict).toMatchObject({ outcome: 'answered', answers });
  });

  it('are refused where one is missing, or where nothing was asked', () => {
    const none = { requestId: question.requestId, answers: {} };
    expect(() => answerQuestion(question, none)).toThrow(refusal('bad_request'));
    expect(() => answerQuestion(request(), none)).toThrow(refusal('wrong_kind'));
  });
});

describe('a yes to a network request', () => {
  const network = (host: unknown) =>
    request({ kind: 'network', toolName: 'SandboxNetworkAccess', toolUseId: '', input: { host } });
  const fetchRule = {
    type: 'addRules',
    behavior: 'allow',
    rules: [{ toolName: 'WebFetch', ruleContent: 'domain:a.example' }],
  };

  it('opens the host for the process, and keeps it only when told to', () => {
    expect(allow(network('a.example'), body()).response).toEqual({ behavior: 'allow' });
    expect(kept(network('a.example'), body())).toEqual([]);
    expect(allow(network('A.Example.'), body({ remember: 'stage' })).response).toEqual({ behavior: 'allow' });
    expect(kept(network('A.Example.'), body({ remember: 'stage' }))).toEqual([{ kind: 'host', rule: 'a.example' }]);
  });

  it.each(['*.example', '*', 'a.example:80', 'a,b.example', 7])('keeps no rule for %s', (host) => {
    expect(() => allow(network(host), body({ remember: 'project' }))).toThrow(refusal('bad_request'));
    expect(kept(network(host), body({ remember: 'project' }))).toEqual([]);
  });

  it('takes no rule of a tool, and no other host', () => {
    expect(() => allow(network('a.example'), body({ updatedPermissions: [fetchRule] }))).toThrow(
      refusal('bad_request'),
    );
    expect(() => allow(network('a.example'), body({ updatedInput: { host: 'b.example' } }))).toThrow(
      refusal('bad_request'),
    );
  });
});
