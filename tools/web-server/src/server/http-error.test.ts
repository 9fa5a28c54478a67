import { type ProblemCode, problems } from '@callboard/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Refusal } from '../../test/fake-orchestrator.ts';
import { bearer, type Harness, startHarness } from '../../test/harness.ts';
import { decision } from '../../test/samples.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const send = (method: 'GET' | 'POST', url: string, payload?: object | string) =>
  harness.app.inject({
    method,
    url,
    headers: { ...bearer, 'content-type': 'application/json' },
    ...(payload && { payload }),
  });

it.each(Object.entries(problems))('answers the refusal %s with %i', async (code, status) => {
  harness.orchestrator.handlers.interrupt = () => {
    throw new Refusal(code as ProblemCode, `words for ${code}`); // a key of the table
  };
  const response = await send('POST', '/api/sessions/STAGE-1/interrupt');
  expect(response.statusCode).toBe(status);
  expect(response.headers['content-type']).toMatch(/^application\/problem\+json/);
  expect(response.json()).toEqual({
    type: `urn:callboard:problem:${code}`,
    title: expect.stringMatching(/^[A-Z][a-z ]+$/),
    status,
    code,
    detail: code === 'internal' ? expect.not.stringContaining('words') : `words for ${code}`,
  });
  if (code === 'internal') expect(harness.errors.splice(0)).toHaveLength(1);
});

it('passes on the decision that stands', async () => {
  harness.orchestrator.handlers.approve_tool = () => {
    throw new Refusal('already_decided', 'Ann has allowed it', decision);
  };
  const response = await send('POST', '/api/sessions/STAGE-1/approve', { requestId: 'r', decision: 'deny' });
  expect(response.statusCode).toBe(409);
  expect(response.json()).toMatchObject({ code: 'already_decided', decision });
});

it.each([
  ['a bad choice', '/api/sessions/STAGE-1/approve', { requestId: 'r', decision: 'maybe' }, 'decision: '],
  ['a missing field', '/api/stages', { projectId: 'web', title: 'A' }, 'prompt: '],
  ['an empty text', '/api/sessions/STAGE-1/message', { message: '  ' }, 'message: is empty'],
  ['an unknown field', '/api/stages', { projectId: 'web', title: 'A', prompt: 'B', colour: 'red' }, '"colour"'],
  ['a bad id in the path', '/api/stages/..%2Fx/start', undefined, 'stageId: must be letters'],
  ['several at once', '/api/stages', { projectId: 'web', title: '', prompt: '' }, 'title: is empty; prompt: is empty'],
])('names the field for %s', async (_, url, payload, detail) => {
  const response = await send('POST', url, payload);
  expect(response.statusCode).toBe(400);
  expect(response.json()).toMatchObject({ code: 'bad_request', detail: expect.stringContaining(detail) });
});

it('answers bodies that cannot be read as problems, with the status that HTTP has for them', async () => {
  const broken = await send('POST', '/api/stages', '{"title":');
  expect([broken.statusCode, broken.json().code]).toEqual([400, 'bad_request']);
  const large = await send('POST', '/api/stages', { title: 'x'.repeat(1024 * 1024) });
  expect([large.statusCode, large.json().code]).toEqual([413, 'bad_request']);
  const foreign = await harness.app.inject({
    method: 'POST',
    url: '/api/stages',
    headers: { ...bearer, 'content-type': 'text/csv' },
    payload: 'a,b',
  });
  expect([foreign.statusCode, foreign.json().code]).toEqual([415, 'bad_request']);
});

it('reads larger bodies for messages', async () => {
  const response = await send('POST', '/api/sessions/STAGE-1/message', { message: 'x'.repeat(2 * 1024 * 1024) });
  expect(response.json()).toMatchObject({ status: 400, detail: expect.stringContaining('message: ') });
});

it('answers an unknown address of the API with a problem', async () => {
  for (const [method, url] of [
    ['GET', '/api/nothing'],
    ['POST', '/api/board'],
    ['GET', '/api'],
  ] as const) {
    const response = await send(method, url);
    expect([response.statusCode, response.json().code]).toEqual([404, 'not_found']);
  }
  const malformed = await send('GET', '/api/stages/%zz');
  expect([malformed.statusCode, malformed.json().code]).toEqual([400, 'bad_request']);
});

it('tells nothing of its inside when a reply breaks the contract', async () => {
  harness.orchestrator.handlers.get_session = () => JSON.parse('{"session":{"secretField":1}}');
  const response = await send('GET', '/api/sessions/STAGE-1');
  expect(response.statusCode).toBe(500);
  expect(response.json().detail).not.toMatch(/session|contract|secretField/);
  expect(harness.errors.splice(0)).toHaveLength(1);
});
