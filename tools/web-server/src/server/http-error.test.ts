import { commandDocs, type ProblemCode, problems } from '@callboard/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Refusal } from '../../test/fake-orchestrator.ts';
import { bearer, type Harness, startHarness } from '../../test/harness.ts';
import { decision, queued } from '../../test/samples.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const send = (method: 'GET' | 'POST' | 'PATCH', url: string, payload?: object | string) =>
  harness.app.inject({
    method,
    url,
    headers: { ...bearer, 'content-type': 'application/json' },
    ...(payload && { payload }),
  });

it.each(Object.entries(problems).map(([code, { status }]) => [code, status] as const))(
  'sends the refusal %s with the status %i',
  async (code, status) => {
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
  },
);

it('includes the decision that stands', async () => {
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

const problem = (code: string, status: number, text: string) =>
  expect.objectContaining({ code, status, detail: expect.stringContaining(text) });

it('sends problems with the matching HTTP status for unreadable bodies', async () => {
  const broken = await send('POST', '/api/stages', '{"title":');
  expect([broken.statusCode, broken.json().code]).toEqual([400, 'bad_request']);
  const large = await send('POST', '/api/projects', { name: 'x'.repeat(1024 * 1024) });
  expect([large.statusCode, large.json()]).toEqual([413, problem('body_too_large', 413, 'The body is larger')]);
});

it.each([
  ['text/csv', 'a,b'],
  ['text/plain', '{}'],
  ['application/x-www-form-urlencoded', 'a=b'],
])('answers a body of the type %s with 415', async (type, payload) => {
  const headers = { ...bearer, 'content-type': type };
  const foreign = await harness.app.inject({ method: 'POST', url: '/api/stages', headers, payload });
  expect([foreign.statusCode, foreign.json()]).toEqual([415, problem('unsupported_media_type', 415, 'not JSON')]);
});

it('accepts a command without fields, whatever the type of its empty body', async () => {
  harness.orchestrator.handlers.interrupt = () => commandDocs().interrupt.example.reply;
  for (const type of ['text/plain;charset=UTF-8', 'application/json']) {
    const headers = { ...bearer, 'content-type': type };
    const url = '/api/sessions/STAGE-1/interrupt';
    expect((await harness.app.inject({ method: 'POST', url, headers, payload: '' })).statusCode).toBe(200);
  }
});

it('accepts larger bodies for messages with attachments', async () => {
  const reply = { status: 'sent', messageId: queued.messageId } as const;
  harness.orchestrator.handlers.send_message = () => reply;
  const image = (megabytes: number) => {
    const dataBase64 = Buffer.alloc(megabytes * 1024 * 1024 * 0.75).toString('base64');
    return { message: 'look', attachments: [{ name: 'a.png', mediaType: 'image/png', dataBase64 }] };
  };
  const large = await send('POST', '/api/sessions/STAGE-1/message', image(24));
  expect([large.statusCode, large.json()]).toEqual([200, reply]);
  const tooLarge = await send('POST', '/api/sessions/STAGE-1/message', image(25));
  expect([tooLarge.statusCode, tooLarge.json().code]).toEqual([413, 'body_too_large']);
});

it('does not read a body without a login', async () => {
  const response = await harness.app.inject({
    method: 'POST',
    url: '/api/sessions/STAGE-1/message',
    headers: { 'content-type': 'application/json' },
    payload: 'not JSON at all',
  });
  expect([response.statusCode, response.json().code]).toEqual([401, 'not_logged_in']);
});

it('sends a problem for an unknown API path', async () => {
  for (const [method, url] of [
    ['GET', '/api/nothing'],
    ['POST', '/api/board'],
    ['GET', '/api'],
    ['PATCH', '/api/stages'],
  ] as const) {
    const response = await send(method, url);
    expect([response.statusCode, response.json().code]).toEqual([404, 'not_found']);
  }
  const malformed = await send('GET', '/api/stages/%zz');
  expect([malformed.statusCode, malformed.json().code]).toEqual([400, 'bad_request']);
});

it('reveals no internals if a reply breaks the contract', async () => {
  harness.orchestrator.handlers.get_session = () => JSON.parse('{"session":{"secretField":1}}');
  const response = await send('GET', '/api/sessions/STAGE-1');
  expect(response.statusCode).toBe(500);
  expect(response.json().detail).not.toMatch(/session|contract|secretField/);
  expect(harness.errors.splice(0)).toHaveLength(1);
});
