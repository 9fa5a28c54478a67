import { type ApproveBody, PendingRequest } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { allow, answerQuestion, deny, saved, timeOut } from './approvals.ts';

const AT = '2026-01-02T03:04:05.000Z';
const requestId = 'r1';

const request = (fields: Record<string, unknown> = {}): PendingRequest =>
  PendingRequest.parse({
    stageId: 'S1',
    requestId,
    kind: 'approval',
    toolName: 'Bash',
    displayName: 'Bash',
    toolUseId: 'u1',
    input: { command: 'make' },
    description: null,
    agent: null,
    reason: null,
    blockedPath: null,
    suggestions: [],
    suppressAlwaysAllow: false,
    createdAt: AT,
    ...fields,
  });
const body = (fields: Record<string, unknown> = {}) => ({ requestId, decision: 'allow', ...fields }) as ApproveBody;
const refusal = (code: string) => expect.objectContaining({ code, kind: 'rejection' });

describe('allowing', () => {
  it('runs the original input if it was not changed', () => {
    expect(allow(request(), body()).response).toEqual({ behavior: 'allow' });
  });

  it('sends and records a changed input', () => {
    const updatedInput = { command: 'make test' };
    const { response, verdict } = allow(request(), body({ updatedInput }));
    expect(response).toEqual({ behavior: 'allow', updatedInput });
    expect(verdict).toMatchObject({ outcome: 'allowed', updatedInput });
  });

  it('refuses a changed input that would not run, as the CLI would turn it into a denial', () => {
    expect(() => allow(request(), body({ updatedInput: { comand: 'ls' } }))).toThrow(refusal('bad_request'));
    expect(() => allow(request(), body({ updatedInput: {} }))).toThrow(refusal('bad_request'));
  });

  it('grants permissions for the session only, whatever destination was suggested', () => {
    const rule = { type: 'addRules', rules: [{ toolName: 'Bash' }], behavior: 'allow', destination: 'localSettings' };
    const { response } = allow(request(), body({ updatedPermissions: [rule] }));
    expect(response).toEqual({ behavior: 'allow', updatedPermissions: [{ ...rule, destination: 'session' }] });
  });

  it('refuses to keep a rule that the CLI does not want kept, or a suggestion without a rule', () => {
    const rule = { type: 'addRules', rules: [{ toolName: 'Bash' }], behavior: 'allow', destination: 'session' };
    const always = body({ remember: 'stage', updatedPermissions: [rule] });
    expect(() => allow(request({ suppressAlwaysAllow: true }), always)).toThrow(refusal('bad_request'));
    expect(() => allow(request(), body({ remember: 'stage' }))).toThrow(refusal('bad_request'));
    expect(allow(request(), always).response).toMatchObject({ behavior: 'allow' });
  });

  it('refuses fields that the CLI would ignore: interrupt, and permissions that it does not accept', () => {
    expect(() => allow(request(), body({ interrupt: true }))).toThrow('Leave it out, or deny');
    expect(allow(request(), body({ interrupt: false })).response).toEqual({ behavior: 'allow' });
    const updatedPermissions = [{ type: 'nonsense' }];
    expect(() => allow(request(), body({ updatedPermissions }))).toThrow(refusal('bad_request'));
    const suggested = request({ suggestions: updatedPermissions });
    expect(allow(suggested, body({ updatedPermissions })).response).toMatchObject({ behavior: 'allow' });
  });

  it('a plan always names the mode that follows', () => {
    const plan = request({ kind: 'plan', toolName: 'ExitPlanMode', input: {} });
    const mode = (name: string) => ({ type: 'setMode', mode: name, destination: 'session' });
    expect(allow(plan, body()).response).toMatchObject({ updatedPermissions: [mode('default')] });
    const chosen = body({ updatedPermissions: [mode('acceptEdits')] });
    expect(allow(plan, chosen).response).toMatchObject({ updatedPermissions: [mode('acceptEdits')] });
  });

  it('a question is refused, as it would tell Claude that nobody answered', () => {
    expect(() => allow(request({ kind: 'question' }), body())).toThrow(refusal('wrong_kind'));
  });

  it('a form sends its content if that fits the schema', () => {
    const requested_schema = { properties: { name: { type: 'string' } }, required: ['name'] };
    const form = request({ kind: 'elicitation', input: { message: 'Who?', requested_schema } });
    expect(allow(form, body({ updatedInput: { name: 'Ada' } })).response).toEqual({
      action: 'accept',
      content: { name: 'Ada' },
    });
    expect(() => allow(form, body())).toThrow(refusal('bad_request'));
  });
});

describe('denying', () => {
  it('always sends a message, as the CLI treats a denial without one as invalid', () => {
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

  it('ends the turn only if interrupt is set', () => {
    expect(deny(request(), {}).response).not.toHaveProperty('interrupt');
    expect(deny(request(), { interrupt: true }).response).toMatchObject({ interrupt: true });
  });

  it('a question says that it was declined, and why', () => {
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

  it('a form declines it', () => {
    expect(deny(request({ kind: 'elicitation' }), { reason: 'No' }).response).toEqual({ action: 'decline' });
  });

  it('an expired request says that nobody answered', () => {
    const { response, verdict } = timeOut(request());
    expect(verdict.outcome).toBe('timed-out');
    expect(response.message).toContain('Nobody answered');
  });
});

describe('answering a question', () => {
  const input = { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] };
  const question = request({ kind: 'question', toolName: 'AskUserQuestion', input });

  it('sends the answers to the CLI together with the questions', () => {
    const answers = { 'Which?': 'A' };
    const { response, verdict } = answerQuestion(question, { requestId: question.requestId, answers });
    expect(response).toEqual({ behavior: 'allow', updatedInput: { ...input, answers } });
    expect(verdict).toMatchObject({ outcome: 'answered', answers });
  });

  it('refuses a missing answer, and answers to a request that is not a question', () => {
    const none = { requestId: question.requestId, answers: {} };
    expect(() => answerQuestion(question, none)).toThrow(refusal('bad_request'));
    expect(() => answerQuestion(request(), none)).toThrow(refusal('wrong_kind'));
  });
});

describe('allowing a network request', () => {
  const network = (host: unknown) =>
    request({ kind: 'network', toolName: 'SandboxNetworkAccess', toolUseId: '', input: { host } });
  const fetchRule = {
    type: 'addRules',
    behavior: 'allow',
    rules: [{ toolName: 'WebFetch', ruleContent: 'domain:a.example' }],
  };

  it('opens the host for the process, and keeps a rule only with remember', () => {
    expect(allow(network('a.example'), body()).response).toEqual({ behavior: 'allow' });
    expect(saved(network('a.example'), body())).toEqual([]);
    expect(allow(network('A.Example.'), body({ remember: 'stage' })).response).toEqual({ behavior: 'allow' });
    expect(saved(network('A.Example.'), body({ remember: 'stage' }))).toEqual([{ kind: 'host', rule: 'a.example' }]);
  });

  it.each(['*.example', '*', 'a.example:80', 'a,b.example', 7])('keeps no rule for %s', (host) => {
    expect(() => allow(network(host), body({ remember: 'project' }))).toThrow(refusal('bad_request'));
    expect(saved(network(host), body({ remember: 'project' }))).toEqual([]);
  });

  it('refuses a tool rule and a changed host', () => {
    expect(() => allow(network('a.example'), body({ updatedPermissions: [fetchRule] }))).toThrow(
      refusal('bad_request'),
    );
    expect(() => allow(network('a.example'), body({ updatedInput: { host: 'b.example' } }))).toThrow(
      refusal('bad_request'),
    );
  });
});
