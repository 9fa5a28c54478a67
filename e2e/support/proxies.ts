/** The proxies that people put in front of Callboard, with the files that `docs/from-your-phone.md` and `docs/scale.md` give for them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeCertificate } from '../../test-support/certificates.ts';
import { askHttps, type HttpsSite } from '../../test-support/https-client.ts';
import type { AtEnd } from '../../test-support/temporary-folder.ts';
import { eventually, waitFor } from '../../test-support/until.ts';
import { descendants } from './processes.ts';

/** `balancer`: nginx in front of several machines. */
export type ProxyName = 'nginx' | 'caddy' | 'balancer';

interface ProxyLocation {
  /** For its files, logs and certificates; outlives it. */
  readonly folder: string;
  /** The public URL of Callboard, with its path if it is below one. */
  readonly publicUrl: string;
  /** Where the proxy listens. */
  readonly port: number;
  /** Where Callboard listens; a balancer has two of them behind it. */
  readonly callboardPorts: readonly number[];
}

/** In the folder of nginx: for each request that is over, the addresses that were asked, the request, and the client's name for itself. */
export const NGINX_LOG = 'access.log';

interface Prepared {
  readonly args: readonly string[];
  /** The certificate that its clients have to trust, once it is there. */
  readonly ca: () => Promise<Buffer>;
}

const DOCUMENTED = {
  name: 'callboard.example.com',
  /** Where the pages say that Callboard listens. */
  targets: { nginx: ['127.0.0.1:3100'], caddy: ['127.0.0.1:3100'], balancer: ['10.0.0.11:3100', '10.0.0.12:3100'] },
};

/** Returns the page's block of code, with other names, ports and paths. @throws Error if one of them is not there */
async function fromPage(name: ProxyName, changes: Readonly<Record<string, string>>): Promise<string> {
  const file = name === 'balancer' ? 'scale.md' : 'from-your-phone.md';
  const language = name === 'caddy' ? 'caddyfile' : 'nginx';
  const page = await readFile(new URL(`../../docs/${file}`, import.meta.url), 'utf8');
  const block = new RegExp(`\`\`\`${language}\\n(.*?)\\n\`\`\``, 's').exec(page)?.[1];
  if (block === undefined) throw new Error(`the page has no block for ${language}`);
  return Object.entries(changes).reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the block for ${language} does not have ${from}`);
    return text.replaceAll(from, to);
  }, block);
}

/** What the pages say of where Callboard listens, and where it listens here. */
const targetsOf = (name: ProxyName, ports: readonly number[]) =>
  Object.fromEntries(DOCUMENTED.targets[name].map((target, index) => [target, `127.0.0.1:${ports[index]}`]));

async function prepareNginx(
  name: 'nginx' | 'balancer',
  { folder, publicUrl, port, callboardPorts }: ProxyLocation,
): Promise<Prepared> {
  const { hostname } = new URL(publicUrl);
  const base = pathOf(publicUrl);
  const { cert, key, ca } = await makeCertificate(folder, 'proxy', [hostname]);
  const site = await fromPage(name, {
    'listen 443': `listen 127.0.0.1:${port}`,
    [DOCUMENTED.name]: hostname,
    'location / {': `location ${base}/ {`,
    ...targetsOf(name, callboardPorts),
    '/etc/ssl/callboard.pem': cert,
    '/etc/ssl/callboard.key': key,
  });
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`);
  const file = join(folder, 'nginx.conf');
  // The workers of root would become another account, which cannot enter the folder.
  const account = process.getuid?.() === 0 ? 'user root;' : '';
  await writeFile(
    file,
    `${account} daemon off; worker_processes 1; pid ${folder}/nginx.pid; events {}
http { log_format target '$upstream_addr $request $http_user_agent'; access_log ${folder}/${NGINX_LOG} target; ${places.join(' ')}
${site}
}`,
  );
  return { args: ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], ca: async () => ca };
}

/** Caddy gets its certificate by itself: for a name of this machine, from an authority of its own. */
async function prepareCaddy({ folder, publicUrl, port, callboardPorts }: ProxyLocation): Promise<Prepared> {
  const site = await fromPage('caddy', {
    [DOCUMENTED.name]: `${new URL(publicUrl).hostname}:${port}`,
    'reverse_proxy ': pathOf(publicUrl) === '' ? 'reverse_proxy ' : `reverse_proxy ${pathOf(publicUrl)}/* `,
    ...targetsOf('caddy', callboardPorts),
  });
  const file = join(folder, 'Caddyfile');
  await writeFile(
    file,
    `{
  admin off
  default_bind 127.0.0.1
  skip_install_trust
  auto_https disable_redirects
  storage file_system ${folder}/store
  servers {
    protocols h1 h2
  }
}
${site}
`,
  );
  return {
    args: ['run', '--adapter', 'caddyfile', '--config', file],
    ca: () => readFile(join(folder, 'store/pki/authorities/local/root.crt')),
  };
}

/**
 * Starts a proxy and resolves with its site once it leads to Callboard. At the end it is stopped, and must leave no process.
 * @throws Error with its log if it does not start
 */
export async function startProxy(name: ProxyName, location: ProxyLocation, atEnd: AtEnd): Promise<HttpsSite> {
  await mkdir(location.folder, { recursive: true });
  const { args, ca } = await (name === 'caddy' ? prepareCaddy(location) : prepareNginx(name, location));
  const env = { PATH: process.env.PATH ?? '', HOME: location.folder };
  const child = spawn(name === 'caddy' ? 'caddy' : 'nginx', args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const said: string[] = [];
  child.stderr.on('data', (data) => said.push(String(data)));
  const exited = once(child, 'exit');
  atEnd(async () => {
    const pids = await descendants(child.pid ?? 0);
    child.kill('SIGTERM');
    await waitFor(`the end of ${name}`, exited, { lastSeen: () => said.join('') });
    const left = pids.filter((pid) => isAlive(pid));
    if (left.length > 0) throw new Error(`${name} left ${left.join(', ')} running`);
  });
  return eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${name} has ended: ${said.join('')}`);
    const { origin } = new URL(location.publicUrl);
    const site = { origin, port: location.port, ca: await ca() };
    const { status } = await askHttps(site, `${pathOf(location.publicUrl)}/api/health`);
    if (status !== 200) throw new Error(`${name} answers with ${status}: ${said.join('')}`);
    return site;
  });
}

/** The path that Callboard is below, without a slash at its end. */
const pathOf = (publicUrl: string): string => new URL(publicUrl).pathname.replace(/\/$/, '');

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
