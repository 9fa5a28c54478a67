import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createRepository } from '../test-support/git.ts';
import { temporaryFolder } from '../test-support/temporary-folder.ts';
import { eventually, until } from '../test-support/until.ts';
import { callApi } from './support/api.ts';
import { install } from './support/callboard.ts';
import { killPart } from './support/processes.ts';

const questions = [
  {
    question: 'Which database?',
    header: 'Database',
    multiSelect: false,
    options: ['SQLite', 'PostgreSQL'].map((label) => ({ label, description: 'A database' })),
  },
];
const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'A command' } }] });
const script = {
  steps: [
    {
      text: 'I plan first.',
      tools: [{ name: 'Write', input: { file_path: '{{planFile}}', content: 'Ask, then build.' } }],
    },
    { tools: [{ name: 'ExitPlanMode', input: {} }] },
    { tools: [{ name: 'AskUserQuestion', input: { questions } }] },
    bash('touch made-in-a-terminal'),
    bash('curl https://example.com/\u202e'),
    { text: 'Everything is done.' },
  ],
};
const Pending = z.object({ pending: z.array(z.object({ requestId: z.string(), kind: z.string() })) });
const Logins = z.object({ logins: z.array(z.object({ browser: z.string() })) });

it('is a whole desk without a browser: log in, start a stage, watch it, answer, say something, and see it done', async () => {
  const { start, command, inTerminal, home } = await install();
  const { origin, supervisor, stop } = await start();
  onTestFinished(stop);
  const logins = async () => Logins.parse(await (await callApi(origin, 'GET', '/api/logins')).json()).logins;
  const ok = async (...args: string[]) => {
    const { code, output } = await command(...args);
    expect([code, output]).toEqual([0, output]);
    return output;
  };
  expect(await command('ls')).toMatchObject({
    code: 1,
    output: expect.stringContaining('Log in: npx callboard login'),
  });
  await ok('login');
  expect((await stat(join(home, '.config', 'callboard', 'credentials.json'))).mode & 0o777).toBe(0o600);
  expect((await logins()).map(({ browser }) => browser)).toEqual([expect.stringMatching(/^Terminal on /)]);

  const text = [
    'start-stage',
    '--project',
    'shop',
    '--permission-mode',
    'plan',
    '--prompt',
    prompt(script, 'Build it.'),
  ];
  expect(await ok(...text)).toContain('Started STAGE-1: Build it');
  const open = async (kind: string) =>
    eventually(async () => {
      const [request] = Pending.parse(await (await callApi(origin, 'GET', '/api/pending')).json()).pending;
      if (request?.kind !== kind) throw new Error(`no ${kind} is open`);
      return request.requestId;
    });

  const plan = await open('plan');
  expect(Pending.parse(JSON.parse(await ok('pending', '--json'))).pending).toMatchObject([{ requestId: plan }]);
  expect(await command('allow')).toMatchObject({ code: 2, output: expect.stringContaining('name the request') });
  expect(await ok('allow', plan.slice(0, 8), '--mode', 'default')).toMatch(/Review the plan.*Ask, then build\./s);
  expect(await command('allow', plan)).toMatchObject({
    code: 1,
    output: expect.stringMatching(/allowed by .+ from Terminal on /),
  });

  await open('question');
  const watch = inTerminal('watch', '1');
  const sees = (text: string) =>
    until(`the terminal shows ${JSON.stringify(text)}`, () => watch.said().includes(text), { lastSeen: watch.said });
  /** As a person does who sees that a key came too early. */
  const press = async (keys: readonly string[], seen: string, { said, press: send } = watch) => {
    let next = 0;
    return until(
      `the keys ${keys.join(', ')} have their effect`,
      () => {
        if (said().includes(seen)) return true;
        send(keys[next++ % keys.length] ?? '');
        return false;
      },
      { everyMs: 700, lastSeen: said },
    );
  };
  await sees('r answer');
  await press(['r'], 'Answer 1');
  watch.press('2\r');
  await sees('$ touch made-in-a-terminal');
  await killPart(supervisor.pid, 'web server');
  await sees('Connected again.');
  await press(['c', 'a'], 'made-in-a-terminal: allowed by');
  await sees('\u27e8U+202E\u27e9');
  const denying = inTerminal('deny', '--reason', 'No');
  await until('it asks', () => denying.said().includes('Deny? [y/N]'), { lastSeen: denying.said });
  await press(['y\r'], 'Denied: Bash curl', denying);
  await sees('Everything is done.');
  expect(await ok('ls')).toMatch(/^Review 1\n {2}STAGE-1/);

  expect(await ok('say', '1', 'Thank you.')).toContain('Sent.');
  await sees('Thank you.');
  await until('Claude has answered', () => watch.said().split('Ready for review.').length === 3, {
    lastSeen: watch.said,
  });
  expect(await ok('complete', '1')).toContain('STAGE-1 is done, not merged.');
  await sees('Done, not merged.');
  watch.press('\x03');
  expect(await watch.ended).toBe(0);
  expect(watch.said().split('\x1b[?2004l')).toHaveLength(2);
  expect(await ok('ls')).toMatch(/^Done 1\n {2}STAGE-1/);

  await ok('logout');
  expect(await logins()).toEqual([]);
  expect(await command('ls')).toMatchObject({ code: 1 });
});

it('offers the repository that it is started in, and not again once that is a project', async () => {
  const till = await createRepository(join(await temporaryFolder(), 'till'));
  const { inTerminal, start } = await install({ INIT_CWD: till }, undefined, true);
  const question = `Add ${till} as a project? [Y/n] `;
  const ready = 'Callboard ready: ';
  const startHere = () => {
    const terminal = inTerminal('start', '--no-open', '--port', '0', '--orchestrator-port', '0');
    const sees = (text: string) =>
      until(`the terminal shows ${text}`, () => terminal.said().includes(text), { lastSeen: terminal.said });
    return { ...terminal, sees };
  };
  const first = startHere();
  await first.sees(ready); // whoever waits for it need not answer
  await first.sees(question);
  first.press('\r');
  await first.sees(`added ${till} as a project.`);
  first.press('\x03');
  expect(await first.ended).toBe(0);

  const second = startHere();
  await second.sees(ready);
  expect(second.said()).not.toContain(question);
  second.press('\x03');
  expect(await second.ended).toBe(0);

  const { origin, stop } = await start();
  onTestFinished(stop);
  const board = z.object({ projects: z.array(z.object({ path: z.string() })) });
  const { projects } = board.parse(await (await callApi(origin, 'GET', '/api/board')).json());
  expect(projects.map(({ path }) => path)).toContain(till);
});
