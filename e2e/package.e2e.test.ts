import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { findOlderNode } from '../scripts/older-node.ts';
import { waitFor } from '../test-support/until.ts';
import { ALL } from '../test-support/variants.ts';
import { openBrowser } from './support/browser.ts';
import { install, type Program } from './support/callboard.ts';
import { seeDemo } from './support/demo-scene.ts';
import { checkOut, installPackage, pack, ROOT } from './support/packages.ts';
import { claudePids, processesOf } from './support/processes.ts';
import { apiOf } from './support/scene.ts';

const older = findOlderNode();
/** As a strict program has them; the types of Node come from this checkout. */
const TSC = [
  ...['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', '--ignoreConfig'],
  ...['--typeRoots', join(ROOT, 'node_modules', '@types'), '--types', 'node'],
];

let folder: string;
let tarball: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'callboard-package-')));
  // `npm run test:all` builds each package anew; `npm test` has built this one just before.
  tarball = pack(ROOT, join(folder, 'now'), ALL ? [] : ['--as-built']);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let installing: Promise<Program> | undefined;

/** The package of this checkout, which nothing that runs it may write to: one installation is enough for all tests. */
function installed(): Promise<Program> {
  installing ??= installPackage(join(folder, 'now'), tarball);
  return installing;
}

it('contains no sources, no path of this machine, and needs nothing else', async () => {
  const { bin } = await installed();
  const top = join(dirname(bin), '..', '..', '..');
  const files = await readdir(top, { recursive: true });
  expect(files.filter((file) => /(?<!\.d)\.tsx?$/.test(file))).toEqual([]);
  const manifest = JSON.parse(await readFile(join(top, 'package.json'), 'utf8'));
  expect(manifest).not.toHaveProperty('dependencies');
  expect(manifest).not.toHaveProperty('scripts');
  expect(await readdir(join(top, '..'))).toEqual(['.bin', '.package-lock.json', 'callboard']);
  const licences = await readFile(join(top, 'LICENSES.txt'), 'utf8');
  for (const name of ['fastify', 'react-dom', '@mantine/core', 'zod', '@fontsource-variable/inter', '@dagrejs/dagre'])
    expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'));
  expect(licences).not.toContain(ROOT);
  const bundles = files.filter((name) => name.endsWith('.js'));
  expect(bundles.length).toBeGreaterThan(50);
  for (const file of bundles) expect(await readFile(join(top, file), 'utf8')).not.toContain(ROOT);
});

it('can be imported by a program, with types', async () => {
  const { node } = await installed();
  const home = await realpath(await mkdtemp(join(tmpdir(), 'callboard-import-')));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const program = join(folder, 'now', 'program.mts');
  await writeFile(
    program,
    `import { embedOrchestrator } from 'callboard';
import { createHttpTransport, createInProcessTransport, StageId, type Transport, TransportError } from 'callboard/client';

const remote: Transport = createHttpTransport({ origin: 'http://127.0.0.1:1', token: 'none' });
const why: unknown = await remote.command('get_board', {}).catch((error: unknown) => error);
const env = { PATH: process.env.PATH, HOME: ${JSON.stringify(home)} };
const orchestrator = await embedOrchestrator({ dataDir: ${JSON.stringify(join(home, 'data'))}, env });
const { execute, onEvent, onTextDelta } = orchestrator;
const own = createInProcessTransport({ execute, onEvent, onTextDelta, actor: { name: 'Program' } });
const board = await own.command('get_board', {});
const titles: string[] = board.stages.map(({ title }) => title);
// @ts-expect-error: there is no such decision
const wrong = { stageId: StageId.parse('STAGE-1'), requestId: 'r', decision: 'perhaps' } satisfies Parameters<typeof own.command<'approve_tool'>>[1];
await orchestrator.stop();
console.log(JSON.stringify([why instanceof TransportError && why.code, board.seq, titles, wrong.decision]));
`,
  );
  const types = spawnSync(join(ROOT, 'node_modules', '.bin', 'tsc'), [...TSC, program], { encoding: 'utf8' });
  expect(types.stdout + types.stderr).toBe('');
  const { stdout, stderr } = spawnSync(node, [program], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: home },
  });
  expect([stderr, JSON.parse(stdout || 'null')]).toEqual(['', ['network', expect.any(Number), [], 'perhaps']]);
});

/** The oldest Node represents both, if it is installed. */
const areBoth = older === null || ALL;
const NODES = [
  ...(areBoth ? [['the Node of the tests', process.execPath] as const] : []),
  ['the oldest Node', older] as const,
];

it.for(NODES)('does its job from an empty folder, on %s', async ([, node], { skip }) => {
  if (node === null) return skip('Node 24 is not installed');
  const program = { ...(await installed()), node };
  const { start, model } = await install({}, onTestFinished, false, program);
  const { origin, loginLink, stop } = await start();
  onTestFinished(stop);
  const { page, errors } = await openBrowser();
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor();
  const api = apiOf(origin, model);
  const run = { name: 'Bash', input: { command: 'touch it-ran', description: 'Leave a mark' } };
  await api.start(await api.stage('Say so', [{ tools: [run] }, { text: 'Said.' }]));
  const form = page.getByRole('dialog', { name: /Run this command\?/ });
  await form.getByText('touch it-ran').first().waitFor();
  await form.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Say so').waitFor();
  expect(errors).toEqual([]);
});

it.for(NODES)(
  'examines the machine and shows the demo on %s, and says how to get what they need',
  async ([, node], { skip }) => {
    if (node === null) return skip('Node 24 is not installed');
    const program = { ...(await installed()), node };
    const { home, command, folder: own } = await install({}, onTestFinished, false, program);
    const { code, output } = await command('doctor');
    expect(output).toContain('claude');
    expect([code, output]).toEqual([0, output]);

    // Folders that npm puts in front of PATH do not count as the user's.
    const env = { PATH: `${dirname(program.node)}:${process.env.PATH}`, HOME: home, TMPDIR: join(own, 'tmp') };
    const args = [program.bin, 'demo', '--no-open', '--port', '0', '--orchestrator-port', '0'];
    const demo = spawn(program.node, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(demo, 'exit');
    onTestFinished(() => void demo.kill('SIGINT'));
    const said: string[] = [];
    for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (data) => said.push(String(data)));
    // It bundles nothing, but first tries the sandbox and creates a project: 22 s on a busy machine.
    await expect.poll(() => said.join(''), { timeout: 90_000 }).toContain('This is a demo');
    await seeDemo(/^Callboard ready: (\S+)$/m.exec(said.join(''))?.[1] ?? '');
    expect(await claudePids(own)).not.toEqual([]);
    demo.kill('SIGINT');
    expect(await waitFor('the end of the demo', ended, { withinMs: 60_000 })).toEqual([0, null]); // ends its sessions
    expect(await processesOf(own)).toEqual([]);
    expect(await readdir(join(own, 'tmp'))).toEqual([]);

    const without = { ...env, PATH: '/usr/bin:/bin' };
    for (const name of ['demo', 'doctor']) {
      const { stdout, stderr } = spawnSync(program.node, [program.bin, name], { env: without, encoding: 'utf8' });
      expect(stdout + stderr).toContain('npm install -g @anthropic-ai/claude-code');
    }
  },
);

/** Installs the package of the commit before, which is built for it; a text says why there is none. */
async function installedBefore(): Promise<Program | string> {
  const before = join(folder, 'before');
  const { lack } = await checkOut('HEAD~1', before, onTestFinished);
  return lack ?? installPackage(join(folder, 'old'), pack(before, join(folder, 'then')));
}

const PREVIOUS = [
  ['another installation', () => installPackage(join(folder, 'same'), tarball)],
  ['the previous version', installedBefore],
] as const;

// That a request outlives all of Callboard is proven by `kill` and `restart`; this is about the place of its files.
const those = ALL ? PREVIOUS : [];
it.for(those)('continues, in a new place, with a request that was opened under %s', async ([, prepare], { skip }) => {
  const old = await prepare();
  if (typeof old === 'string') return skip(old);
  const now = await installed();

  const { start, model, folder: own, command } = await install({}, onTestFinished, false, now);
  const first = await start(0, old);
  const api = apiOf(first.origin, model);
  const run = { name: 'Bash', input: { command: 'touch it-ran', description: 'Leave a mark' } };
  const stage = await api.stage('Say so', [{ tools: [run] }, { text: 'Said.' }]);
  await api.start(stage);
  await expect.poll(async () => (await api.get('/api/pending')).pending.length).toBe(1);
  const [request] = (await api.get('/api/pending')).pending;
  await first.stop();
  expect(await claudePids(own)).toHaveLength(1);

  const second = await start();
  onTestFinished(second.stop);
  const later = apiOf(second.origin, model);
  expect((await later.get('/api/pending')).pending[0]).toMatchObject({ requestId: request.requestId });
  await later.post(`/api/sessions/${stage}/approve`, { requestId: request.requestId, decision: 'allow' });
  await expect.poll(async () => (await later.get(`/api/stages/${stage}`)).stage.column).toBe('review');
  expect((await command('down')).code).toBe(0);
});
