import { readFileSync } from 'node:fs';
import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { until } from '../test-support/until.ts';
import { callApi } from './support/api.ts';
import { install, ofClone } from './support/callboard.ts';
import { processesOf } from './support/processes.ts';

const Pending = z.object({ pending: z.array(z.object({ requestId: z.string(), stageId: z.string() })) });
const Created = z.object({ stage: z.object({ id: z.string() }) });
const Viewed = z.object({
  stage: z.object({ session: z.object({ alarm: z.object({ code: z.string(), detail: z.string() }).nullable() }) }),
});
const Decisions = z.object({ decisions: z.array(z.object({ outcome: z.string(), asked: z.string() })) });
const Logins = z.object({ logins: z.array(z.object({ browser: z.string() })) });
const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'A command' } }] });

it('lets no command that Claude ran answer for a person, wherever it hides, and still lets a terminal', async () => {
  const { start, command, home, folder, dataDir } = await install();
  const { origin, stop } = await start();
  onTestFinished(async () => {
    await stop();
    await command('down');
  });
  expect(await command('login')).toMatchObject({ code: 0 });
  const get = async (path: string) => (await callApi(origin, 'GET', path)).json();
  const pendingOf = async (stageId: string) =>
    Pending.parse(await get('/api/pending')).pending.find((one) => one.stageId === stageId)?.requestId;
  const loginsNow = async () => Logins.parse(await get('/api/logins')).logins.length;
  const logins = await loginsNow();

  const own = [ofClone.node, ...(ofClone.flags ?? []), ofClone.bin].join(' ');
  const at = `--data-dir ${dataDir}`;
  const bare = `env -i HOME=${home} PATH=$PATH`;
  /** Waits for the next request of this very stage, and allows it with the person's token. */
  const answering = join(folder, 'answer.mjs');
  await writeFile(
    answering,
    `import { readFileSync, writeFileSync } from 'node:fs';
    const { token } = JSON.parse(readFileSync('${join(home, '.config', 'callboard', 'credentials.json')}', 'utf8')).logins[0];
    const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json', via: '1.1 me', 'x-forwarded-for': '10.0.0.1' };
    const stage = process.argv[2];
    for (;;) {
      const { pending } = await (await fetch('${origin}/api/pending', { headers })).json();
      const request = pending.find((one) => one.stageId === stage);
      if (request === undefined) continue;
      const body = JSON.stringify({ requestId: request.requestId, decision: 'allow' });
      const answer = await fetch('${origin}/api/sessions/' + stage + '/approve', { method: 'POST', headers, body });
      writeFileSync(process.argv[3], answer.status + ' ' + await answer.text());
      break;
    }`,
  );
  /** Runs until the second request is open: `callboard allow` without a name answers the only one. */
  const again = (what: string) => `sh -c 'while ! ${what} >> $0 2>&1; do grep -q session $0 && break; sleep 0.1; done'`;
  const attacks: Record<string, (stageId: string, file: string) => string> = {
    'the command': (stageId, file) =>
      `(${again(`${own} allow $(${own} pending --ids --stage ${stageId} ${at}) ${at}`)} ${file} &)`,
    'a daemon without its environment': (stageId, file) =>
      `setsid -f ${bare} ${again(`${own} allow $(${own} pending --ids --stage ${stageId} ${at}) ${at}`)} ${file} > /dev/null 2>&1`,
    'the token': (stageId, file) =>
      `setsid -f ${bare} ${ofClone.node} ${answering} ${stageId} ${file} > /dev/null 2>&1`,
    'a login link': (_, file) => `setsid -f ${bare} sh -c '${own} link ${at} > ${file} 2>&1' > /dev/null 2>&1`,
    'a login': (_, file) => `setsid -f ${bare} sh -c '${own} login ${at} > ${file} 2>&1' > /dev/null 2>&1`,
  };
  for (const [name, attack] of Object.entries(attacks)) {
    const fields = { projectId: 'shop', title: name, sandbox: false, prompt: 'placeholder' };
    const { stage } = Created.parse(await (await callApi(origin, 'POST', '/api/stages', fields)).json());
    const said = join(folder, `said-${stage.id}`);
    await writeFile(said, '');
    const script = prompt({
      steps: [bash(attack(stage.id, said)), bash(`touch ${folder}/got-${stage.id}`), { text: 'Done.' }],
    });
    await callApi(origin, 'PATCH', `/api/stages/${stage.id}`, { prompt: script });
    await callApi(origin, 'POST', `/api/stages/${stage.id}/start`);
    await until(`a request of ${name}`, async () => (await pendingOf(stage.id)) !== undefined);
    expect(await command('allow', (await pendingOf(stage.id)) ?? ''), name).toMatchObject({ code: 0 });
    const alarm = async () => Viewed.parse(await get(`/api/stages/${stage.id}`)).stage.session.alarm;
    await until(`the alarm of ${name}`, async () => (await alarm()) !== null, {
      lastSeen: () => readFileSync(said, 'utf8'),
    });
    expect(await alarm(), name).toMatchObject({
      code: 'used-login',
      detail: expect.stringContaining('It was refused'),
    });
    await until(
      `${name} ends`,
      async () => !(await processesOf(folder)).some((line) => line.includes(stage.id) && line.includes('said-')),
    );
    await expect(access(`${folder}/got-${stage.id}`), name).rejects.toThrow('ENOENT');
  }
  const { decisions } = Decisions.parse(await get('/api/decisions'));
  expect(decisions.filter(({ outcome, asked }) => outcome === 'allowed' && asked.includes('touch'))).toEqual([]);
  expect(await loginsNow()).toBe(logins);
});
