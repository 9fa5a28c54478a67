/** The proxies that people put in front of Callboard, with the files that `docs/from-your-phone.md` gives for them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeCertificate } from '../../test-support/certificates.ts';
import { askHttps, type HttpsSite } from '../../test-support/https-client.ts';
import type { AtEnd } from '../../test-support/temporary-folder.ts';
import { eventually, waitFor } from '../../test-support/until.ts';
import { descendants } from './processes.ts';

export type ProxyName = 'nginx' | 'caddy';

interface ProxyPlace {
  /** For its files, logs and certificates; outlives it. */
  readonly folder: string;
  /** The public URL of Callboard. */
  readonly publicUrl: string;
  /** Where the proxy listens. */
  readonly port: number;
  /** Where Callboard listens. */
  readonly callboardPort: number;
}

interface Prepared {
  readonly args: readonly string[];
  /** The certificate that its clients have to trust, once it is there. */
  readonly ca: () => Promise<Buffer>;
}

const PAGE = new URL('../../docs/from-your-phone.md', import.meta.url);
const DOCUMENTED = { name: 'callboard.example.com', target: '127.0.0.1:3100' };

/** Returns a block of code of the page, with other names, ports and paths. @throws Error if one of them is not there */
async function fromPage(language: string, changes: Readonly<Record<string, string>>): Promise<string> {
  const page = await readFile(PAGE, 'utf8');
  const block = new RegExp(`\`\`\`${language}\\n(.*?)\\n\`\`\``, 's').exec(page)?.[1];
  if (block === undefined) throw new Error(`the page has no block for ${language}`);
  return Object.entries(changes).reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the block for ${language} does not have ${from}`);
    return text.replaceAll(from, to);
  }, block);
}

async function prepareNginx({ folder, publicUrl, port, callboardPort }: ProxyPlace): Promise<Prepared> {
  const { hostname } = new URL(publicUrl);
  const { cert, key, ca } = await makeCertificate(folder, 'proxy', [hostname]);
  const site = await fromPage('nginx', {
    'listen 443': `listen 127.0.0.1:${port}`,
    [DOCUMENTED.name]: hostname,
    [DOCUMENTED.target]: `127.0.0.1:${callboardPort}`,
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
http { access_log off; ${places.join(' ')}
${site}
}`,
  );
  return { args: ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], ca: async () => ca };
}

/** Caddy gets its certificate by itself: for a name of this machine, from an authority of its own. */
async function prepareCaddy({ folder, publicUrl, port, callboardPort }: ProxyPlace): Promise<Prepared> {
  const site = await fromPage('caddyfile', {
    [DOCUMENTED.name]: `${new URL(publicUrl).hostname}:${port}`,
    [DOCUMENTED.target]: `127.0.0.1:${callboardPort}`,
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
export async function startProxy(name: ProxyName, place: ProxyPlace, atEnd: AtEnd): Promise<HttpsSite> {
  await mkdir(place.folder, { recursive: true });
  const { args, ca } = await (name === 'nginx' ? prepareNginx(place) : prepareCaddy(place));
  const env = { PATH: process.env.PATH ?? '', HOME: place.folder };
  const child = spawn(name, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
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
    const site = { origin: place.publicUrl, port: place.port, ca: await ca() };
    const { status } = await askHttps(site, '/api/health');
    if (status !== 200) throw new Error(`${name} answers with ${status}: ${said.join('')}`);
    return site;
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
