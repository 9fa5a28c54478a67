import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { boardView, CLAUDE_UNCHECKED, NO_LIMITS, SANDBOX_UNTRIED } from '@callboard/contract';
import {
  AT,
  sampleDecision,
  sampleProject,
  sampleRequest,
  sampleSession,
  sampleStage,
} from '@callboard/contract/samples';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { runHere } from '../../test/run-here.ts';
import { acquireSupervisorLock } from '../supervisor/control-socket.ts';
import { saveLogin } from '../terminal/api-client.ts';

const phases = ['Plan', 'Build'].map((name) => ({ name, prompt: name }));
const stage = { ...sampleStage({ pipeline: phases }), session: sampleSession({ phaseIndex: 1 }), column: 'running' };
const shop = sampleProject();
const commit = '0123456789012345678901234567890123456789';
const merged = {
  commit,
  into: 'main',
  branch: 'callboard/STAGE-1',
  head: commit,
  previous: commit,
  commits: 1,
  files: 1,
  at: AT,
};

/** The API with these answers, and a terminal that is logged in to it and in a folder of the project. */
async function setUp(answers: Record<string, unknown> = {}, piped = '', request = sampleRequest()) {
  const home = await temporaryFolder();
  const project = { ...shop, path: home };
  const board = boardView({
    seq: 1,
    projects: [project],
    stages: [stage],
    pending: [request],
    unsettled: [],
    warnings: [],
    paused: null,
    startHolds: [],
    budgets: [],
    limits: NO_LIMITS,
    holds: [],
    sandbox: SANDBOX_UNTRIED,
    claude: CLAUDE_UNCHECKED,
  });
  const known: Record<string, unknown> = {
    'GET /api/board': board,
    'GET /api/projects': { projects: [project] },
    'GET /api/pending': { pending: board.pending, later: [] },
    ...answers,
  };
  const sent: [string, unknown][] = [];
  const api = createServer(async (request, response) => {
    const route = `${request.method} ${request.url}`;
    const body = await text(request);
    if (request.method !== 'GET') sent.push([route, JSON.parse(body)]);
    const answer = known[route] ?? {
      type: 'urn:callboard:not_found',
      title: '',
      status: 404,
      code: 'not_found',
      detail: `No ${route}.`,
    };
    response.writeHead(known[route] === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void api.close());
  const address = api.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const dataDir = join(home, 'data');
  const lock = await acquireSupervisorLock(dataDir, port, new Date());
  onTestFinished(() => lock.release());
  await saveLogin({ env: {}, home }, { dataDir, address: 'http://127.0.0.1:1', token: 'token' });
  const input = { isTerminal: piped === '', read: async () => piped, ask: async () => null };
  const callboard = (...args: string[]) =>
    runHere([...args, '--data-dir', dataDir], { env: {}, home, cwd: home, input, now: () => new Date(AT) });
  return { callboard, sent, hint: (text: string) => `npx callboard ${text} --data-dir ${dataDir}` };
}

it('creates a stage from a prompt in the project around the folder, and starts it', async () => {
  const { callboard, sent, hint } = await setUp({
    'POST /api/stages': { stage },
    'POST /api/stages/STAGE-1/start': { stage },
  });
  const { exitCode, out, err } = await callboard(
    'start-stage',
    '--prompt',
    'Please build the form. It has two fields.',
    ...['--permission-mode', 'plan', '--model', 'opus', '--pipeline', 'With review'],
  );
  expect([exitCode, err, out]).toEqual([
    0,
    'callboard: created STAGE-1.',
    `Started STAGE-1: A stage. Watch it: ${hint('watch STAGE-1')}`,
  ]);
  const created = {
    projectId: 'shop',
    title: 'Build the form',
    prompt: 'Please build the form. It has two fields.',
    permissionMode: 'plan',
    model: 'opus',
    pipeline: 'With review',
    creationId: expect.any(String),
  };
  expect(sent).toEqual([
    ['POST /api/stages', created],
    ['POST /api/stages/STAGE-1/start', {}],
  ]);
});

it('takes a prompt from a pipe, and a repository that is no project yet', async () => {
  const trust = { needed: true, hash: 'x', items: [] };
  const added = { ...shop, id: 'web', name: 'Web', path: '/code/web', trust };
  const { callboard, sent } = await setUp(
    {
      'POST /api/projects': { project: added, created: true },
      'POST /api/stages': { stage },
      'POST /api/stages/STAGE-1/start': { stage },
    },
    'Do it\n',
  );
  const { exitCode, err } = await callboard('start-stage', '--project', '/code/web', '--title', 'Mine');
  expect([exitCode, sent[0], sent[1]]).toEqual([
    0,
    ['POST /api/projects', { path: '/code/web' }],
    ['POST /api/stages', { projectId: 'web', title: 'Mine', prompt: 'Do it', creationId: expect.any(String) }],
  ]);
  expect(err).toContain('added the project Web (/code/web)');
  expect(err).toContain('stay off until somebody agrees');
});

it('starts a stage that exists, and prints it as JSON', async () => {
  const { callboard, sent } = await setUp({ 'POST /api/stages/STAGE-1/start': { stage } });
  const { out } = await callboard('start-stage', '1', '--json');
  expect([JSON.parse(out).id, sent]).toEqual(['STAGE-1', [['POST /api/stages/STAGE-1/start', {}]]]);
});

it.each([
  [['start-stage'], 'name a stage that exists, or write a prompt'],
  [['start-stage', '1', '--pipeline', 'x'], 'Leave these options out, or the stage'],
  [['start-stage', '1', '--title', 'x'], 'a stage that exists has its prompt, title, project, mode'],
  [
    ['start-stage', '--prompt', 'x', '--project', 'nowhere'],
    'there is no project "nowhere". There are: shop. A path begins with',
  ],
  [['start-stage', '--prompt', 'x', '--permission-mode', 'yolo'], '--permission-mode: must be one of default'],
  [['ls', '--project', 'nowhere'], 'there is no project "nowhere". There are: shop.'],
  [['watch'], 'name the stage'],
  [['say', '1'], 'the message is empty'],
  [['say', '9', 'x'], 'there is no stage "9". List them: npx callboard ls'],
  [['complete', '1', '--commit', 'x'], '--commit: needs --merge'],
  [['allow', 'request-1', '--mode', 'acceptEdits'], '--mode: is for plans only'],
  [['allow', 'request-1', '--hosts'], '--hosts: this request names no hosts'],
  [['answer', 'request-1', 'x'], 'asks for a yes or no'],
  [['rules', 'add', 'Bash(npm test)'], 'say where the rule applies'],
  [['rules', 'add', 'rm -rf', '--stage', '1'], 'write the rule like'],
  [['rules', 'add', 'Bash(npm test)', '--stage', '1', '--for', 'ever'], '--for: must be a number of minutes'],
  [['rules', 'forget'], 'ACTION: must be list, add or remove'],
  [['rules', 'remove'], 'name the rule by its id'],
])('refuses %j as a wrong command line, and sends nothing', async (args, text) => {
  const { callboard, sent } = await setUp();
  expect(await callboard(...args)).toMatchObject({ exitCode: 2, err: expect.stringContaining(text) });
  expect(sent).toEqual([]);
});

it('sends a message, and says what became of it', async () => {
  const reply = { status: 'queued', messageId: 'm1', reopened: true, replaced: ['a', 'b'] };
  const { callboard, sent } = await setUp({ 'POST /api/sessions/STAGE-1/message': reply }, 'From a pipe\n');
  const { out } = await callboard('say', '1', '-', '--mode', 'replace');
  expect(out).toBe(
    'Queued: Claude gets it after this turn.\nSTAGE-1 was done and is open again.\nReplaced 2 queued messages; they are kept as drafts.',
  );
  expect(sent).toEqual([
    ['POST /api/sessions/STAGE-1/message', { message: 'From a pipe', mode: 'replace', messageId: expect.any(String) }],
  ]);
});

it('shows the hosts that a command needs, and allows them with it on request', async () => {
  const hosts = ['packages.example'];
  const decision = sampleDecision({ outcome: 'allowed', asked: 'Bash npm ci', delivery: 'confirmed', hosts });
  const route = 'POST /api/sessions/STAGE-1/approve';
  const { callboard, sent } = await setUp({ [route]: { decision } }, '', sampleRequest({ hosts }));
  const { out, err } = await callboard('allow', 'request-1', '--hosts');
  expect(err).toContain('Needs packages.example');
  expect(out).toBe('Allowed with packages.example: Bash npm ci');
  await callboard('allow', 'request-1');
  expect(sent).toEqual([
    [route, { requestId: 'request-1', decision: 'allow', hosts }],
    [route, { requestId: 'request-1', decision: 'allow' }],
  ]);
});

it('denies with a reason of several lines that is piped in, and only if the request is named', async () => {
  const decision = sampleDecision({ outcome: 'denied' });
  const { callboard, sent } = await setUp(
    { 'POST /api/sessions/STAGE-1/approve': { decision } },
    '> Step 2\nToo wide.\n',
  );
  expect(await callboard('deny', '--reason', '-')).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('--reason -: name the request as well'),
  });
  await callboard('deny', 'request-1', '--reason', '-');
  expect(sent).toEqual([
    ['POST /api/sessions/STAGE-1/approve', { requestId: 'request-1', decision: 'deny', reason: '> Step 2\nToo wide.' }],
  ]);
});

it('starts the next phase, and completes a stage with a merge', async () => {
  const { callboard, sent } = await setUp({
    'POST /api/stages/STAGE-1/advance': { stage },
    'POST /api/stages/STAGE-1/complete': { stage: { ...stage, completedAt: AT, merged } },
  });
  expect((await callboard('advance', '1')).out).toBe('Started Build of STAGE-1.');
  expect((await callboard('complete', '1', '--merge', 'squash', '--commit', 'Work')).out).toBe(
    'STAGE-1 is done, merged 0123456 into main.',
  );
  expect(sent.at(-1)).toEqual(['POST /api/stages/STAGE-1/complete', { merge: 'squash', commit: { message: 'Work' } }]);
});

it('lists what waits, as lines, ids or JSON', async () => {
  const { callboard } = await setUp();
  expect((await callboard('pending')).out).toMatch(/^request-1? +STAGE-1 +0 s +\$ make$/);
  expect((await callboard('pending', '--ids')).out).toBe('request-1');
  expect(JSON.parse((await callboard('pending', '--json')).out).pending[0].requestId).toBe('request-1');
  expect((await callboard('ls', '--ids')).out).toBe('STAGE-1');
  expect(JSON.parse((await callboard('ls', '--ids', '--json')).out)).toEqual(['STAGE-1']);
  expect(JSON.parse((await callboard('pending', '--ids', '--json')).out)).toEqual(['request-1']);
  expect(JSON.parse((await callboard('ls', '--json')).out).stages[0].id).toBe('STAGE-1');
});

it('says a refusal in the words of the server', async () => {
  const { callboard } = await setUp();
  expect(await callboard('advance', '1')).toMatchObject({
    exitCode: 1,
    err: 'callboard: No POST /api/stages/STAGE-1/advance.',
  });
});

it('lists rules, adds one to a stage for a while and says what it does not answer, and removes it', async () => {
  const saved = {
    ruleId: 'rule-12345678',
    scope: 'stage',
    projectId: 'shop',
    stageId: 'STAGE-1',
    kind: 'allow',
    by: 'Ada',
    rule: 'Bash(npm test)',
    createdAt: AT,
    expiresAt: '2026-01-02T05:04:05.000Z',
    endedAt: null,
    endedBy: null,
  };
  const used = { ...saved, uses: 2, lastUsedAt: AT, usedFor: [], lastUses: [] };
  const { callboard, sent, hint } = await setUp({
    'GET /api/rules': { rules: [used], ended: [] },
    'POST /api/rules': { rule: saved },
    'DELETE /api/rules/rule-12345678': { rule: saved },
  });
  expect((await callboard('rules')).out).toBe(
    'rule-12345678  Bash(npm test)  (STAGE-1 until 2026-01-02T05:04:05.000Z, by Ada, used 2 times)',
  );
  const added = await callboard('rules', 'add', 'Bash(npm test)', '--stage', '1', '--for', '2h');
  expect(added.out).toBe(
    `Allowed in STAGE-1 until 2026-01-02T05:04:05.000Z: Bash(npm test). Remove it: ${hint('rules remove rule-12345678')}\n` +
      `It applies from the next call on. Open requests there still need an answer: ${hint('pending')}`,
  );
  expect((await callboard('rules', 'remove', 'rule-1')).out).toBe(
    'Removed from STAGE-1: Bash(npm test). Claude asks again.',
  );
  const expiresAt = new Date(new Date(AT).getTime() + 7_200_000).toISOString();
  expect(sent).toEqual([
    ['POST /api/rules', { rule: 'Bash(npm test)', scope: { stageId: 'STAGE-1' }, expiresAt }],
    ['DELETE /api/rules/rule-12345678', {}],
  ]);
});
