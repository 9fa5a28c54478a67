import { commandDocs } from '@callboard/contract';
import type { RoutedCommand } from '@callboard/contract/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer, type Harness, startHarness } from './harness.ts';
import { board, project, stage } from './samples.ts';

const docs = commandDocs();

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({
    prepare({ handlers }) {
      for (const [
        type,
        {
          example: { reply },
        },
      ] of Object.entries(docs))
        Object.assign(handlers, { [type]: () => reply });
      handlers.approve_tool = ({ hold }) => (hold === true ? HELD : docs.approve_tool.example.reply);
      handlers.answer_question = ({ hold }) => (hold === true ? HELD : docs.answer_question.example.reply);
      handlers.create_project = ({ path }) => ({ project, created: path === '/new' });
    },
  });
});
afterAll(() => harness.stop());

const send = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object) =>
  harness.app.inject({ method, url: `/api${path}`, headers: bearer, ...(payload && { payload }) });

const HELD = { heldUntil: '2026-01-02T03:04:07.000Z' };
const onStage = { stageId: 'STAGE-1' };
const onMessage = { ...onStage, messageId: 'message-1' };
const newStage = { projectId: 'web', title: 'A', prompt: 'B' };
const approve = { requestId: 'r', decision: 'deny', reason: 'not now', interrupt: true };
const answer = { requestId: 'r', answers: { 'Which one?': 'this, that' } };
const attached = { message: ' look ', attachments: [{ name: 'a.png', mediaType: 'image/png', dataBase64: 'aGk=' }] };
const filter = { stageId: 'STAGE-1', outcome: 'denied', kind: 'plan', by: 'Ann', toolName: 'ExitPlanMode' };
const period = { since: '2026-01-01T00:00:00.000Z', before: '2026-02-01T00:00:00.000Z' };

type Case = [call: Parameters<typeof send>, command: RoutedCommand, input: object, status: number];

/** The public interface, written out: it does not change when a table does. */
const cases: Case[] = [
  [['GET', '/board'], 'get_board', {}, 200],
  [['GET', '/pending'], 'get_pending', {}, 200],
  [['GET', '/pending?stageId=STAGE-1'], 'get_pending', onStage, 200],
  [
    ['GET', `/decisions?${new URLSearchParams({ ...filter, ...period, limit: '5' })}`],
    'get_decisions',
    { ...filter, ...period, limit: 5 },
    200,
  ],

  [['GET', '/projects'], 'get_projects', {}, 200],
  [['PATCH', '/projects/web', { name: 'W' }], 'update_project', { projectId: 'web', name: 'W' }, 200],
  [
    ['PATCH', '/projects/web', { settings: { requestTimeoutMs: null } }],
    'update_project',
    { projectId: 'web', settings: { requestTimeoutMs: null } },
    200,
  ],
  [['DELETE', '/projects/web'], 'remove_project', { projectId: 'web' }, 200],
  [['POST', '/projects/web/import', { path: 'stages' }], 'import_stages', { projectId: 'web', path: 'stages' }, 200],
  [['GET', '/projects/web/rules'], 'get_rules', { projectId: 'web' }, 200],
  [['PUT', '/pending/r/later', { until: null }], 'set_later', { requestId: 'r', until: null }, 200],
  [['DELETE', '/pending/r/answer'], 'take_back_answer', { requestId: 'r' }, 200],
  [['PUT', '/pending/r/later'], 'set_later', { requestId: 'r' }, 200],
  [['PATCH', '/me', { presentation: 'quiet' }], 'update_me', { presentation: 'quiet' }, 200],
  [['DELETE', '/rules/rule-1'], 'remove_rule', { ruleId: 'rule-1' }, 200],

  [['POST', '/stages', newStage], 'create_stage', newStage, 201],
  [['GET', '/stages/STAGE-1'], 'get_stage', onStage, 200],
  [['PATCH', '/stages/STAGE-1', { held: true }], 'update_stage', { ...onStage, patch: { held: true } }, 200],
  [['DELETE', '/stages/STAGE-1'], 'remove_stage', onStage, 200],
  [['GET', '/stages/STAGE-1/diff'], 'get_diff', onStage, 200],
  [['GET', '/stages/STAGE-1/diff?path=a%20b%2Fc.ts'], 'get_diff', { ...onStage, path: 'a b/c.ts' }, 200],
  [['POST', '/stages/STAGE-1/start'], 'start_stage', onStage, 202],
  [['POST', '/stages/STAGE-1/advance'], 'advance_stage', onStage, 202],
  [['POST', '/stages/STAGE-1/stop'], 'stop_stage', onStage, 202],
  [['POST', '/stages/STAGE-1/complete'], 'complete_stage', onStage, 202],
  [['POST', '/stages/STAGE-1/complete', { merge: true }], 'complete_stage', { ...onStage, merge: true }, 202],

  [['GET', '/sessions/STAGE-1'], 'get_session', onStage, 200],
  [
    ['GET', '/sessions/STAGE-1/transcript?after=5&limit=10'],
    'get_transcript',
    { ...onStage, after: 5, limit: 10 },
    200,
  ],
  [['GET', '/sessions/STAGE-1/pending'], 'get_pending', onStage, 200],
  [
    ['POST', '/sessions/STAGE-1/message', { message: ' hi ', mode: 'steer' }],
    'send_message',
    { ...onStage, message: ' hi ', mode: 'steer' },
    200,
  ],
  [['POST', '/sessions/STAGE-1/message', attached], 'send_message', { ...onStage, ...attached }, 200],
  [['POST', '/sessions/STAGE-1/approve', approve], 'approve_tool', { ...onStage, ...approve }, 200],
  [['POST', '/sessions/STAGE-1/answer', answer], 'answer_question', { ...onStage, ...answer }, 200],
  [['POST', '/sessions/STAGE-1/interrupt'], 'interrupt', onStage, 200],
  [['POST', '/sessions/STAGE-1/mode', { mode: 'plan' }], 'set_mode', { ...onStage, mode: 'plan' }, 200],
  [
    ['POST', '/sessions/STAGE-1/model', { model: null, effort: 'low' }],
    'set_model',
    { ...onStage, model: null, effort: 'low' },
    200,
  ],

  [['GET', '/sessions/STAGE-1/queue'], 'get_queue', onStage, 200],
  [
    ['PATCH', '/sessions/STAGE-1/queue/message-1', { message: 'x', place: 0 }],
    'edit_queued',
    { ...onMessage, patch: { message: 'x', place: 0 } },
    200,
  ],
  [
    ['POST', '/sessions/STAGE-1/queue/message-1/send', { mode: 'now' }],
    'send_queued',
    { ...onMessage, mode: 'now' },
    200,
  ],
  [['DELETE', '/sessions/STAGE-1/queue/message-1'], 'remove_queued', onMessage, 200],
];

it.each(cases)('translates %j to %s', async (call, command, input, status) => {
  harness.orchestrator.received.length = 0;
  const response = await send(...call);
  expect(response.json()).toEqual(command === 'get_board' ? board(41) : docs[command].example.reply);
  expect(response.statusCode).toBe(status);
  expect(response.headers['cache-control']).toBe('no-store');
  expect(harness.orchestrator.received.at(-1)).toEqual({ type: command, input, actor: 'Ann' });
});

it('answers 202 with the instant for an answer that is held back', async () => {
  for (const [path, body] of [['approve', approve] as const, ['answer', answer] as const]) {
    const held = await send('POST', `/sessions/STAGE-1/${path}`, { ...body, hold: true });
    expect([held.statusCode, held.json()]).toEqual([202, HELD]);
    expect((await send('POST', `/sessions/STAGE-1/${path}`, { ...body, hold: false })).statusCode).toBe(200);
  }
});

it('answers 201 for a new project, and 200 for an existing one', async () => {
  const created = await send('POST', '/projects', { path: '/new' });
  expect([created.statusCode, created.json()]).toEqual([201, { project, created: true }]);
  const found = await send('POST', '/projects', { path: '/old' });
  expect([found.statusCode, found.json()]).toEqual([200, { project, created: false }]);
});

it('accepts the JSON type without a body for commands that need no input', async () => {
  const headers = { ...bearer, 'content-type': 'application/json' };
  for (const command of ['start', 'complete']) {
    const url = `/api/stages/STAGE-1/${command}`;
    const response = await harness.app.inject({ method: 'POST', url, headers });
    expect([response.statusCode, response.json()]).toEqual([202, { stage }]);
  }
});

it('passes on only input that is in the contract', async () => {
  harness.orchestrator.received.length = 0;
  for (const [method, path, payload] of [
    ['POST', '/stages/STAGE-1/complete', { merge: true, force: true }],
    ['PATCH', '/sessions/STAGE-1/queue/message-1', {}],
    ['POST', '/sessions/STAGE-1/queue/message-1/send', { mode: 'append' }],
    ['PATCH', '/projects/web', { settings: { colour: 'red' } }],
    ['GET', '/decisions?colour=red', undefined],
    ['GET', '/decisions?since=yesterday', undefined],
    ['GET', '/decisions?limit=1001', undefined],
    ['GET', '/sessions/STAGE-1/transcript?limit=1e3', undefined],
  ] as const) {
    const response = await send(method, path, payload);
    expect([path, response.statusCode, response.json().code]).toEqual([path, 400, 'bad_request']);
  }
  await send('PATCH', '/projects/web?name=X', { name: 'W' });
  const given = harness.orchestrator.received.filter(({ type }) => type !== 'auth_check');
  expect(given.map(({ input }) => input)).toEqual([{ projectId: 'web', name: 'W' }]);
});

it('passes on the answer to a question with any text, and never treats such a key as a field', async () => {
  const answers = '{"__proto__":"this","constructor":{"prototype":"that"}}';
  const url = '/api/sessions/STAGE-1/answer';
  const post = (payload: string) =>
    harness.app.inject({ method: 'POST', url, headers: { ...bearer, 'content-type': 'application/json' }, payload });
  const before = harness.orchestrator.received.length;
  const good = await post('{"requestId":"r","answers":{"__proto__":"this","constructor":"that"}}');
  expect(good.statusCode).toBe(200);
  const reported = JSON.stringify(harness.orchestrator.received.slice(before));
  expect(reported).toContain('"answers":{"__proto__":"this","constructor":"that"}');
  expect((await post(`{"requestId":"r","answers":${answers}}`)).statusCode).toBe(400);
  const polluted = await post('{"requestId":"r","answers":{"a":"b"},"__proto__":{"actor":"Eve"}}');
  expect(polluted.statusCode === 400 || !JSON.stringify(harness.orchestrator.received.at(-1)).includes('Eve')).toBe(
    true,
  );
});

it('opens an editor only for a browser on this machine', async () => {
  const open = (remoteAddress: string, headers = {}) =>
    harness.app.inject({
      method: 'POST',
      url: '/api/stages/STAGE-1/editor',
      remoteAddress,
      headers: { ...bearer, ...headers },
    });
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) expect((await open(address)).statusCode).toBe(200);
  for (const [name, value] of [
    ['x-forwarded-for', '192.168.1.7'],
    ['forwarded', 'for=192.168.1.7'],
    ['x-forwarded-proto', 'https'], // of a proxy that does not tell the client's address
    ['x-forwarded-host', 'localhost'],
    ['x-real-ip', '192.168.1.7'],
    ['via', '1.1 proxy'],
  ] as const) {
    const passedOn = await open('127.0.0.1', { [name]: value });
    expect([name, passedOn.json()]).toEqual([name, expect.objectContaining({ status: 409, code: 'not_this_machine' })]);
  }
  // Plain HTTP from another machine gets no answer at all.
  expect((await open('192.168.1.7')).json()).toMatchObject({ status: 403, code: 'wrong_origin' });
});
