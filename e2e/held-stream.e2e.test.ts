/** Pages whose event stream is held up on its way, or falls silent without an end. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../scripts/debian.ts';
import { freePort } from '../test-support/free-port.ts';
import { eventually, waitFor } from '../test-support/until.ts';
import { ALL } from '../test-support/variants.ts';
import { callApi } from './support/api.ts';
import { openBrowser } from './support/browser.ts';
import { install } from './support/callboard.ts';

/** Passes a response on once it holds so many bytes, its head included, or is complete. */
async function bufferingProxy(port: number, target: number, bytes: number): Promise<void> {
  const proxy = createHttpServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port: target, method, path: url, headers, agent: false });
    incoming.pipe(onward);
    outgoing.on('close', () => onward.destroy());
    onward.on('error', () => outgoing.destroy());
    onward.on('response', (response: IncomingMessage) => {
      const held: Buffer[] = [];
      let size = JSON.stringify(response.rawHeaders).length;
      const letGo = () => {
        if (!outgoing.headersSent) outgoing.writeHead(response.statusCode ?? 502, response.headers);
        for (const part of held.splice(0)) outgoing.write(part);
        size = 0;
      };
      response.on('data', (part: Buffer) => {
        held.push(part);
        size += part.length;
        if (size >= bytes) letGo();
      });
      response.on('end', () => {
        letGo();
        outgoing.end();
      });
      response.on('error', () => outgoing.destroy());
    });
  }).listen(port, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
}

/** nginx as somebody may have it: it ignores what the stream asks for, and compresses everything. */
async function bufferingNginx(port: number, target: number, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`);
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid ${folder}/nginx.pid; events {}
http { access_log off; ${places.join(' ')}
  server { listen 127.0.0.1:${port};
    gzip on; gzip_types *; gzip_proxied any;
    location / { proxy_pass http://127.0.0.1:${target}; proxy_http_version 1.1; proxy_set_header Host $http_host;
      proxy_ignore_headers X-Accel-Buffering; } } }
`,
  );
  const child = spawn('nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await waitFor('the end of nginx', exited);
  });
  await eventually(() => fetch(`http://127.0.0.1:${port}/api/health`));
}

interface Way {
  drop(): void;
  pass(): void;
}

/**
 * A forwarded port behind which the network can go away, as that of a phone: what was asked of the event stream then stays silent for
 * ever, without an end or an error, and everything else arrives once the network is back, as TCP sends it again.
 * @param forgets everything else stays silent as well, as behind a router that has forgotten its connections
 */
async function dropping(port: number, target: number, { forgets = false } = {}): Promise<Way> {
  const sockets = new Set<Socket>();
  const late: (() => void)[] = [];
  let isDropping = false;
  const tunnel = createServer((socket) => {
    const onward = connect(target, '127.0.0.1');
    let isStream = false;
    let isDead = false;
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => {
        if (from === socket) isStream = String(data).startsWith('GET /api/events');
        isDead ||= isDropping && (isStream || forgets);
        if (isDead) return;
        if (isDropping) late.push(() => to.write(data));
        else to.write(data);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  }).listen(port, '127.0.0.1');
  await once(tunnel, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    tunnel.close();
  });
  return {
    drop: () => {
      isDropping = true;
    },
    pass: () => {
      isDropping = false;
      for (const send of late.splice(0)) send();
    },
  };
}

/** A page behind what `between` puts there, and a stage that asks once it is started. */
async function openThrough<T>(between: (port: number, target: number, folder: string) => Promise<T>) {
  const installation = await install({}, onTestFinished, true);
  const [own, outside] = [await freePort(), await freePort()];
  const { loginLink, stop } = await installation.start(own, undefined, ['--public-url', `http://localhost:${outside}`]);
  onTestFinished(stop);
  const way = await between(outside, own, join(installation.folder, 'proxy'));
  const { page, errors } = await openBrowser();
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor();
  const api = `http://127.0.0.1:${own}`;
  const ask = async (title: string) => {
    const steps = [
      { tools: [{ name: 'Bash', input: { command: 'touch a', description: 'Do it' } }] },
      { text: 'Done.' },
    ];
    const made = { projectId: 'shop', title, prompt: prompt({ steps }, title) };
    const { stage } = await (await callApi(api, 'POST', '/api/stages', made)).json();
    await callApi(api, 'POST', `/api/stages/${stage.id}/start`);
    return page.getByRole('dialog', { name: `${title}: Run this command?` });
  };
  return { page, errors, ask, way };
}

async function showsRequestsAllTheSame({ page, ask }: Awaited<ReturnType<typeof openThrough>>): Promise<void> {
  await page.getByRole('status').getByText('A proxy holds up live updates.').waitFor();
  const request = await ask('Login form');
  await request.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
}

it('shows a request behind a proxy that holds 16 KB back, and says that it does', async () => {
  await showsRequestsAllTheSame(await openThrough((port, target) => bufferingProxy(port, target, 16 * 1024)));
});

it.runIf(ALL && isInstalled('nginx'))(
  'shows a request behind an nginx that buffers and compresses everything',
  async () => {
    await showsRequestsAllTheSame(await openThrough(bufferingNginx));
  },
);

it('says that a connection is lost which fell silent without an end, and is current once the way is back', async () => {
  const { page, ask, way } = await openThrough((port, target) => dropping(port, target));
  await expect.poll(() => page.getByRole('status').getByText('Connection lost.').count()).toBe(0);
  way.drop();
  await page.getByRole('status').getByText('Connection lost.').waitFor();
  const request = await ask('Login form');
  way.pass();
  await request.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  await expect.poll(() => page.getByRole('status').getByText('Connection lost.').count()).toBe(0);
});

it('keeps connections free while the network swallows what the page tells on each move, and is current at once', async () => {
  const { page, ask, way } = await openThrough((port, target) => dropping(port, target, { forgets: true }));
  await (await ask('Login form')).getByRole('button', { name: 'Allow', exact: true }).click();
  const card = page.getByRole('region', { name: 'Review' }).getByRole('link', { name: 'Login form' });
  await card.click();
  await page.getByText('Done.').waitFor();
  await page.goBack();
  await card.waitFor();
  way.drop();
  // Over HTTP/1.1 a browser has six connections.
  await page.evaluate(async () => {
    const { pathname } = location;
    for (let move = 0; move < 10; move += 1) {
      history.pushState(null, '', move % 2 === 0 ? '/stages/STAGE-1' : pathname);
      dispatchEvent(new PopStateEvent('popstate', { state: null }));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  const request = await ask('Refunds');
  await page.getByRole('status').getByText('Connection lost.').waitFor();
  way.pass();
  await request.waitFor();
});
