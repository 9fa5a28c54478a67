import type { CommandType } from '@callboard/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer, type Harness, startHarness } from './harness.ts';
import { decision, pending, project, queued, session, stage } from './samples.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({
    prepare({ handlers }) {
      handlers.create_project = ({ path }) => ({ project, created: path === '/new' });
      handlers.update_project = () => ({ project });
      handlers.remove_project = () => ({});
      for (const type of ['create_stage', 'get_stage', 'update_stage'] as const) handlers[type] = () => ({ stage });
      for (const type of ['start_stage', 'stop_stage', 'complete_stage'] as const) handlers[type] = () => ({ stage });
      handlers.remove_stage = () => ({});
      handlers.get_session = () => ({ session });
      handlers.get_transcript = () => ({ entries: [], total: 0 });
      handlers.get_pending = () => ({ pending: [pending] });
      handlers.get_decisions = () => ({ decisions: [decision] });
      handlers.send_message = () => ({ status: 'queued', messageId: queued.messageId });
      handlers.get_queue = () => ({ queue: [queued], held: false });
      handlers.edit_queued = () => ({ message: queued });
      handlers.remove_queued = () => ({ message: queued });
      handlers.approve_tool = () => ({ decision });
      handlers.answer_question = () => ({ decision });
      handlers.interrupt = () => ({ session });
      handlers.set_mode = () => ({ session });
    },
  });
});
afterAll(() => harness.stop());

interface Case {
  call: ['GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE', string, object?];
  command: CommandType;
  input: object;
  status: number;
  body: object;
}

const onStage = { stageId: 'STAGE-1' };
const newStage = { projectId: 'web', title: 'A', prompt: 'B' };
const approve = { requestId: 'r', decision: 'deny', reason: 'not now', interrupt: true };
const answer = { requestId: 'r', answers: { 'Which one?': 'this, that' } };

const cases: Case[] = [
  { call: ['GET', '/projects'], command: 'get_board', input: {}, status: 200, body: { projects: [project] } },
  {
    call: ['POST', '/projects', { path: '/new' }],
    command: 'create_project',
    input: { path: '/new' },
    status: 201,
    body: { project },
  },
  {
    call: ['POST', '/projects', { path: '/old' }],
    command: 'create_project',
    input: { path: '/old' },
    status: 200,
    body: { project },
  },
  {
    call: ['PATCH', '/projects/web', { name: 'W' }],
    command: 'update_project',
    input: { projectId: 'web', name: 'W' },
    status: 200,
    body: { project },
  },
  {
    call: ['DELETE', '/projects/web'],
    command: 'remove_project',
    input: { projectId: 'web' },
    status: 200,
    body: { project },
  },

  { call: ['POST', '/stages', newStage], command: 'create_stage', input: newStage, status: 201, body: { stage } },
  { call: ['GET', '/stages/STAGE-1'], command: 'get_stage', input: onStage, status: 200, body: { stage } },
  {
    call: ['PATCH', '/stages/STAGE-1', { held: true }],
    command: 'update_stage',
    input: { ...onStage, patch: { held: true } },
    status: 200,
    body: { stage },
  },
  { call: ['DELETE', '/stages/STAGE-1'], command: 'remove_stage', input: onStage, status: 200, body: { stage } },
  { call: ['POST', '/stages/STAGE-1/start'], command: 'start_stage', input: onStage, status: 202, body: { stage } },
  { call: ['POST', '/stages/STAGE-1/stop'], command: 'stop_stage', input: onStage, status: 202, body: { stage } },
  {
    call: ['POST', '/stages/STAGE-1/complete'],
    command: 'complete_stage',
    input: onStage,
    status: 202,
    body: { stage },
  },
  {
    call: ['POST', '/stages/STAGE-1/complete', { merge: false }],
    command: 'complete_stage',
    input: onStage,
    status: 202,
    body: { stage },
  },

  { call: ['GET', '/sessions/STAGE-1'], command: 'get_session', input: onStage, status: 200, body: { session } },
  {
    call: ['GET', '/sessions/STAGE-1/transcript?after=5&limit=10'],
    command: 'get_transcript',
    input: { ...onStage, after: 5, limit: 10 },
    status: 200,
    body: { entries: [], total: 0 },
  },
  {
    call: ['GET', '/sessions/STAGE-1/pending'],
    command: 'get_pending',
    input: onStage,
    status: 200,
    body: { pending: [pending] },
  },
  {
    call: ['POST', '/sessions/STAGE-1/message', { message: ' hi ', mode: 'steer' }],
    command: 'send_message',
    input: { ...onStage, message: ' hi ', mode: 'steer' },
    status: 200,
    body: { status: 'queued', messageId: 'message-1' },
  },
  {
    call: ['POST', '/sessions/STAGE-1/approve', approve],
    command: 'approve_tool',
    input: { ...onStage, ...approve },
    status: 200,
    body: { decision },
  },
  {
    call: ['POST', '/sessions/STAGE-1/answer', answer],
    command: 'answer_question',
    input: { ...onStage, ...answer },
    status: 200,
    body: { decision },
  },
  {
    call: ['POST', '/sessions/STAGE-1/interrupt'],
    command: 'interrupt',
    input: onStage,
    status: 200,
    body: { session },
  },
  {
    call: ['POST', '/sessions/STAGE-1/mode', { mode: 'plan' }],
    command: 'set_mode',
    input: { ...onStage, mode: 'plan' },
    status: 200,
    body: { session },
  },
  {
    call: ['GET', '/sessions/STAGE-1/queue'],
    command: 'get_queue',
    input: onStage,
    status: 200,
    body: { queue: [queued], held: false },
  },
  {
    call: ['PATCH', '/sessions/STAGE-1/queue/message-1', { message: 'x' }],
    command: 'edit_queued',
    input: { ...onStage, messageId: 'message-1', message: 'x' },
    status: 200,
    body: { message: queued },
  },
  {
    call: ['DELETE', '/sessions/STAGE-1/queue/message-1'],
    command: 'remove_queued',
    input: { ...onStage, messageId: 'message-1' },
    status: 200,
    body: { message: queued },
  },

  { call: ['GET', '/pending'], command: 'get_pending', input: {}, status: 200, body: { pending: [pending] } },
  {
    call: ['GET', '/decisions?stageId=STAGE-1&limit=5'],
    command: 'get_decisions',
    input: { ...onStage, limit: 5 },
    status: 200,
    body: { decisions: [decision] },
  },
];

it.each(cases)('$call.0 $call.1 is $command, and answers $status', async ({ call, command, input, status, body }) => {
  const [method, path, payload] = call;
  harness.orchestrator.received.length = 0;
  const response = await harness.app.inject({
    method,
    url: `/api${path}`,
    headers: bearer,
    ...(payload && { payload }),
  });
  expect(response.json()).toEqual(body);
  expect(response.statusCode).toBe(status);
  expect(harness.orchestrator.received.at(-1)).toEqual({ type: command, input, actor: 'Ann' });
});

it('answers the board as it is', async () => {
  const response = await harness.app.inject({ url: '/api/board', headers: bearer });
  expect(response.json()).toEqual({ seq: 0, projects: [project], stages: [stage], pending: [] });
  expect(response.headers['cache-control']).toBe('no-store');
});

it('takes the JSON type without a body where there is nothing to say', async () => {
  const headers = { ...bearer, 'content-type': 'application/json' };
  const response = await harness.app.inject({ method: 'POST', url: '/api/stages/STAGE-1/start', headers });
  expect(response.statusCode).toBe(202);
});

it('refuses to merge rather than not doing it without a word', async () => {
  const response = await harness.app.inject({
    method: 'POST',
    url: '/api/stages/STAGE-1/complete',
    headers: bearer,
    payload: { merge: true },
  });
  expect(response.statusCode).toBe(400);
  expect(response.json().detail).toContain('merge');
});

it('describes itself as OpenAPI, to those who are logged in', async () => {
  expect((await harness.app.inject({ url: '/api/openapi.json' })).statusCode).toBe(401);
  const document = (await harness.app.inject({ url: '/api/openapi.json', headers: bearer })).json();
  expect(document.openapi).toBe('3.1.0');
  const approveOperation = document.paths['/api/sessions/{stageId}/approve'].post;
  expect(approveOperation.requestBody.content['application/json'].schema.properties.decision.enum).toEqual([
    'allow',
    'deny',
  ]);
  expect(Object.keys(approveOperation.responses)).toEqual(['200', '4XX', '5XX']);
  expect(Object.keys(approveOperation.responses['4XX'].content)).toEqual(['application/problem+json']);
  expect(Object.keys(document.paths)).not.toContain('/login');
});
