/** Two machines on one PostgreSQL behind one nginx, with the file that the page on scale gives for it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../scripts/debian.ts';
import { freePort } from '../test-support/free-port.ts';
import { git } from '../test-support/git.ts';
import { askHttps, type HttpsSite, openHttps } from '../test-support/https-client.ts';
import { createDatabase, postgresLack } from '../test-support/postgres.ts';
import { temporaryFolder } from '../test-support/temporary-folder.ts';
import { until } from '../test-support/until.ts';
import { httpsBrowser } from '../tools/web-server/test/log-in.ts';
import { callApi } from './support/api.ts';
import { install } from './support/callboard.ts';
import { NGINX_LOG, startProxy } from './support/proxies.ts';
import { removePart } from './support/remove-orchestrator.ts';

const lack = postgresLack || (isInstalled('nginx') && isInstalled('openssl') ? '' : 'needs nginx and openssl');

/** Nobody asks it: its name is what makes two repositories one project. */
const REMOTE = 'git://127.0.0.1:1/team/shop.git';

async function startMachine(name: string, databaseUrl: string, publicUrl: string) {
  const env = { CALLBOARD_DATABASE_URL: databaseUrl, CALLBOARD_MACHINE_NAME: name };
  const installation = await install(env);
  await git(installation.repo, 'remote', 'add', 'origin', REMOTE);
  const port = await freePort();
  const options = ['--trust-shared-store', '--behind-proxy', '127.0.0.1', '--public-url', publicUrl];
  const { supervisor, stop } = await installation.start(port, undefined, options);
  onTestFinished(stop);
  return { name, port, origin: `http://127.0.0.1:${port}`, pid: supervisor.pid, command: installation.command };
}

/** An event stream that is read until it breaks, and continued by hand. */
function createReader(site: HttpsSite) {
  const ids: number[] = [];
  let text = '';
  const take = (part: string) => {
    const before = text.lastIndexOf('\n\n') + 2;
    text += part;
    // A message whose end did not arrive does not count: it comes again.
    const whole = text.slice(Math.max(before, 2) - 2, text.lastIndexOf('\n\n') + 1);
    for (const [, id] of whole.matchAll(/^id: ?(\d+)$/gm)) ids.push(Number(id));
  };
  return {
    ids,
    text: () => text,
    /** Resolves with what tells whether the connection has ended. */
    async open(headers: Record<string, string>, since: number) {
      text = text.slice(0, text.lastIndexOf('\n\n') + 2);
      const stream = await openHttps(site, '/api/events', { headers: { ...headers, 'last-event-id': `${since}` } });
      onTestFinished(() => void stream.destroy());
      expect(stream.statusCode).toBe(200);
      let hasEnded = false;
      const end = () => {
        hasEnded = true;
      };
      stream.setEncoding('utf8').on('data', take).on('error', end).on('close', end);
      return { hasEnded: () => hasEnded };
    },
  };
}

describe.skipIf(lack !== '')(`two machines behind nginx${lack && ` (${lack})`}`, () => {
  it('keep a login, and go on with a stream at the other machine when a web server stops', async () => {
    const port = await freePort();
    const publicUrl = `https://callboard.localhost:${port}`;
    const databaseUrl = await createDatabase();
    const machines = [
      await startMachine('desk', databaseUrl, publicUrl),
      await startMachine('attic', databaseUrl, publicUrl),
    ];
    const folder = join(await temporaryFolder(), 'nginx');
    const callboardPorts = machines.map((machine) => machine.port);
    const site = await startProxy('balancer', { folder, publicUrl, port, callboardPorts }, onTestFinished);

    const browser = httpsBrowser(site);
    const link = (await machines[0]?.command('link'))?.output.trim() ?? '';
    expect(link).toMatch(`${publicUrl}/login?code=`);
    expect((await browser.redeem(new URL(link).searchParams.get('code') ?? '')).status).toBe(200);
    /** What the page does with each request: where it is not known, it proves itself, and sends the request again. */
    let headers: Record<string, string> = {};
    const prove = async () => {
      headers = { origin: publicUrl, ...(await browser.headers()) };
    };
    await prove();
    let asked = 0;
    const send = async (method: string, path: string, body?: object) => {
      const json = { 'content-type': 'application/json' };
      const text = body && JSON.stringify(body);
      const once = () => {
        asked += 1;
        const agent = { 'user-agent': `test ${asked}` };
        return askHttps(site, path, { method, headers: { ...headers, ...agent, ...(text && json) }, body: text });
      };
      const first = await once();
      if (first.status !== 401) return first;
      expect(first.json()).toMatchObject({ code: 'page_not_proven' });
      await prove();
      return once();
    };
    const board = async () => JSON.parse((await send('GET', '/api/board')).body);
    /** The machine that answered the last request: nginx notes it a moment after its client has the reply. */
    const answering = async () => {
      let used = '';
      await until('nginx has noted who answered', async () => {
        const log = await readFile(join(folder, NGINX_LOG), 'utf8');
        used = new RegExp(`^(.*) test ${asked}$`, 'm').exec(log)?.[1] ?? '';
        return used !== '';
      });
      return machines.find((machine) => used.includes(`:${machine.port} `))?.name;
    };

    const { seq } = await board();
    const used = await answering();
    const here = machines.find(({ name }) => name === used) ?? expect.fail();
    const there = machines.find((machine) => machine !== here) ?? expect.fail();
    const reader = createReader(site);
    const connection = await reader.open(headers, seq);
    const steps = [
      { tools: [{ name: 'Bash', input: { command: 'touch a', description: 'Do it' } }] },
      { text: 'Done.' },
    ];
    const made = { projectId: 'shop', title: 'Login form', prompt: prompt({ steps }), machine: here.name };
    const created = await send('POST', '/api/stages', made);
    expect([created.status, created.body]).toMatchObject([201, expect.stringContaining('Login form')]);
    const stageId: string = JSON.parse(created.body).stage.id;
    expect((await send('POST', `/api/stages/${stageId}/start`)).status).toBe(202);
    await expect.poll(reader.text).toContain('event: approval-requested');

    const restart = await removePart(here.pid, 'web server');
    await until('the stream has ended', connection.hasEnded);
    await callApi(there.origin, 'PATCH', `/api/stages/${stageId}`, { title: 'Changed while away' });
    // The same login, proven at the other web server.
    expect((await board()).pending).toHaveLength(1);
    expect(await answering()).toBe(there.name);
    await reader.open(headers, reader.ids.at(-1) ?? seq);
    await expect.poll(reader.text).toContain('Changed while away');

    const [request] = (await board()).pending;
    const answer = { requestId: request.requestId, decision: 'allow' };
    const allowed = await send('POST', `/api/sessions/${stageId}/approve`, answer);
    expect([allowed.status, allowed.json()]).toMatchObject([200, { decision: { delivery: 'confirmed' } }]);
    expect(await answering()).toBe(there.name);
    const columnOf = async () => (await board()).stages.find(({ id }: { id: string }) => id === stageId)?.column;
    await expect.poll(columnOf).toBe('review');
    const last = (await board()).seq;
    await expect.poll(() => reader.ids.at(-1)).toBeGreaterThanOrEqual(last);
    expect(reader.ids).toEqual(reader.ids.map((_, index) => seq + 1 + index)); // no gap, and none twice

    restart();
    const isHere = async () => {
      expect((await send('GET', '/api/logins')).status).toBe(200);
      return (await answering()) === here.name;
    };
    // Its web server starts, and nginx leaves a machine that has failed alone for ten seconds.
    await until('the machine answers again', isHere, { withinMs: 60_000 });
  });
});
