import { execFileSync } from 'node:child_process';
import { chmod, constants, copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { eventually } from '../../../test-support/until.ts';
import { builtFrom, fingerprint } from '../bin/sources.js';
import { fixture, type Program, runProgram, untilGone } from './cli-process.ts';

const bin = fileURLToPath(new URL('../bin/callboard.js', import.meta.url));

/** The host's Node, possibly an old one: the first on PATH that npm did not put there. */
const hostPath = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((entry) => !entry.includes(`node_modules${sep}.bin`))
  .join(delimiter);
const hostNode = execFileSync('/usr/bin/env', ['node', '-p', 'process.execPath'], {
  env: { PATH: hostPath },
  encoding: 'utf8',
}).trim();

const BUILD = `import { appendFileSync, writeFileSync } from 'node:fs';
import { builtFrom, fingerprint } from '../tools/cli/bin/sources.js';
appendFileSync('builds', 'x');
writeFileSync(builtFrom('.'), fingerprint('.'));
`;

/** Adds the files that a clone has beside its bundles, and marks the bundles as built from them. */
async function addSources(root: string) {
  for (const tool of ['cli', 'contract', 'orchestrator', 'runtime', 'scripted-model', 'store-postgres', 'web-server']) {
    await mkdir(join(root, 'tools', tool, 'src'), { recursive: true });
    await writeFile(join(root, 'tools', tool, 'package.json'), '{ "type": "module" }');
  }
  const configs = ['vite.config.ts', 'vite.worker.config.ts'];
  for (const name of ['index.html', 'login.html', ...configs])
    await writeFile(join(root, 'tools', 'web-server', name), '');
  await writeFile(join(root, 'package-lock.json'), '{}');
  await mkdir(join(root, 'scripts'));
  for (const name of ['build.ts', 'bundles.ts']) await writeFile(join(root, 'scripts', name), BUILD);
  await writeFile(builtFrom(root), fingerprint(root));
}

/**
 * Creates a clone with a stand-in for dist/main.js, or the package that people install; `bundled` creates its
 * node_modules/node/bin/node.
 */
async function install(bundled: (path: string) => Promise<void>, isClone = true) {
  const root = await temporaryFolder();
  const own = join(root, 'tools', 'cli');
  for (const folder of ['tools/cli/bin', 'tools/cli/dist', 'node_modules/node/bin', 'node_modules/.bin']) {
    await mkdir(join(root, folder), { recursive: true });
  }
  for (const name of ['callboard.js', 'sources.js']) await copyFile(join(bin, '..', name), join(own, 'bin', name));
  await copyFile(fixture('echo-main.js'), join(own, 'dist', 'main.js'));
  await writeFile(join(own, 'package.json'), '{ "type": "module" }');
  if (isClone) await addSources(root);
  await symlink(own, join(root, 'node_modules', 'callboard'));
  const linked = join(root, 'node_modules', '.bin', 'callboard');
  await symlink('../callboard/bin/callboard.js', linked);
  await bundled(join(root, 'node_modules', 'node', 'bin', 'node'));
  return {
    root,
    linked,
    main: join(own, 'dist', 'main.js'),
    bundledNode: join(root, 'node_modules', 'node', 'bin', 'node'),
  };
}

const withNode = (path: string) => symlink(process.execPath, path);
const withoutNode = async () => {};

const Package = z.object({ scripts: z.record(z.string(), z.string()) });
const Said = z.object({ execPath: z.string(), script: z.string(), args: z.array(z.string()), pid: z.int() });
const said = (program: Program) => eventually(() => Said.parse(JSON.parse(program.stdout().split('\n')[0] ?? '')));

it('runs the command line of this package on the Node of the host', async () => {
  const program = runProgram(hostNode, [bin, '--version']);
  expect(await program.ended).toBe(0);
  expect(program.stdout()).toBe('0.1.0\n');
});

it('can be run by its name alone', async () => {
  const program = runProgram(bin, ['bogus'], { ...process.env, PATH: hostPath });
  expect(await program.ended).toBe(2);
  expect(program.stderr()).toContain('there is no command "bogus"');
});

it('runs main.js by its real path, on the Node that came with it, with all arguments', async () => {
  const { linked, main } = await install(withNode);
  const program = runProgram(hostNode, [linked, 'exit', '7', '--port=1', 'a b']);
  expect(await program.ended).toBe(7);
  const { execPath, script, args } = await said(program);
  expect(script).toBe(main);
  expect(script).toContain('tools/cli/dist');
  expect(execPath).toBe(process.execPath);
  expect(args).toEqual(['exit', '7', '--port=1', 'a b']);
});

it('becomes the program itself if it already runs on the right Node', async () => {
  const { linked } = await install(withNode);
  const program = runProgram(process.execPath, [linked, 'exit', '7', 'a b']);
  expect(await program.ended).toBe(7);
  expect(await said(program)).toMatchObject({ pid: program.child.pid, args: ['exit', '7', 'a b'] });
});

it('becomes the program also on another Node than the one that runs it, if that can start', async () => {
  const { linked, bundledNode } = await install((path) => copyFile(process.execPath, path, constants.COPYFILE_FICLONE));
  const program = runProgram(process.execPath, [linked, 'exit', '7']);
  expect(await program.ended).toBe(7);
  expect(await said(program)).toMatchObject({ pid: program.child.pid, execPath: bundledNode });
});

it('rebuilds a changed clone first, and says so if it cannot', async () => {
  const { root, linked } = await install(withNode);
  const builds = async () => (await readFile(join(root, 'builds'), 'utf8').catch(() => '')).length;
  const runs = async () => {
    const program = runProgram(hostNode, [linked, 'exit', '0']);
    return [await program.ended, program.stderr(), await builds()];
  };
  const script = join(root, 'scripts', 'build.ts');
  const said = 'callboard: the sources have changed; building.\n';
  expect(await runs()).toEqual([0, '', 0]);
  await rm(builtFrom(root));
  expect(await runs()).toEqual([0, said, 1]);
  expect(await runs()).toEqual([0, '', 1]);
  const added = join(root, 'tools', 'contract', 'src', 'added.ts');
  await writeFile(added, 'export {};');
  expect(await runs()).toEqual([0, said, 2]);
  await writeFile(join(root, 'tools', 'contract', 'src', 'added.test.ts'), 'export {};');
  expect(await runs()).toEqual([0, '', 2]);
  await rm(added);
  expect(await runs()).toEqual([0, said, 3]);

  await rm(builtFrom(root));
  await writeFile(script, 'process.exitCode = 1;');
  const [code, text] = await runs();
  expect(code).toBe(1);
  expect(text).toContain('the build failed. Run `npm install`, then `npm run build`');
});

it('ends like the program it runs, even by a signal', async () => {
  const { linked } = await install(withNode);
  const program = runProgram(hostNode, [linked, 'die']);
  expect(await program.ended).toBe('SIGKILL');
});

it('forwards signals and waits for the end', async () => {
  const { linked } = await install(withNode);
  const program = runProgram(hostNode, [linked, 'wait']);
  await said(program);
  program.child.kill('SIGTERM');
  expect(await program.ended).toBe(0);
  expect(program.stdout()).toContain('told to stop');
});

it.each(['start', 'demo'])('stops when only npm, which ran its script "%s", gets the signal', async (script) => {
  const { root } = await install(withNode);
  const { scripts } = Package.parse(
    JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')),
  );
  await writeFile(join(root, 'package.json'), JSON.stringify({ private: true, scripts }));
  const env = { PATH: hostPath, HOME: root };
  const program = runProgram('npm', ['--prefix', root, '--silent', 'run', script], env);
  const { args, pid } = await said(program);
  expect(args).toEqual([script]);
  program.child.kill('SIGTERM');
  await program.ended;
  expect(program.stdout()).toContain('told to stop');
  await untilGone(pid);
});

it('lets the program notice when the launcher is killed', async () => {
  const { linked } = await install(withNode);
  const program = runProgram(hostNode, [linked, 'wait']);
  const { pid } = await said(program);
  program.child.kill('SIGKILL');
  expect(await program.ended).toBe('SIGKILL');
  await untilGone(pid);
  expect(program.stdout()).toContain('launcher gone');
});

it('falls back to the Node that runs it if none came with it', async () => {
  const { linked } = await install(withoutNode);
  const program = runProgram(process.execPath, [linked, 'exit', '0']);
  expect(await program.ended).toBe(0);
  expect((await said(program)).execPath).toBe(process.execPath);
});

it('runs on the Node of the host if it was installed as a package, and builds nothing', async () => {
  const somebodyElses = (path: string) => writeFile(path, '#!/bin/sh\nexit 3\n', { mode: 0o755 });
  const { linked } = await install(somebodyElses, false);
  const program = runProgram(process.execPath, [linked, 'exit', '0']);
  expect(await program.ended).toBe(0);
  expect((await said(program)).execPath).toBe(process.execPath);
  const disguise = join(linked, '..', 'old.cjs');
  await writeFile(disguise, "Object.defineProperty(process, 'versions', { value: { node: '22.1.0' } });");
  const old = runProgram(hostNode, ['--require', disguise, linked]);
  expect(await old.ended).toBe(1);
  expect(old.stderr()).toBe(
    'callboard: needs Node 24 or newer. This is Node 22.1.0. Install a newer Node and try again.\n',
  );
});

it('falls back to the Node that runs it if the bundled one is for another system', async () => {
  const { linked } = await install(async (path) => {
    await writeFile(path, 'not a program of this system');
    await chmod(path, 0o644);
  });
  const program = runProgram(process.execPath, [linked, 'exit', '0']);
  expect(await program.ended).toBe(0);
  expect((await said(program)).execPath).toBe(process.execPath);
});

it.each([
  ['was not found', withoutNode],
  ['cannot be started', (path: string) => writeFile(path, '')],
])('says what it needs if no Node is new enough: %s', async (reason, bundled) => {
  const { linked } = await install(bundled);
  const disguise = join(linked, '..', 'old.cjs');
  await writeFile(disguise, "Object.defineProperty(process, 'versions', { value: { node: '16.20.2' } });");
  const program = runProgram(hostNode, ['--require', disguise, linked]);
  expect(await program.ended).toBe(1);
  expect(program.stderr()).toContain(
    'needs Node 24 or newer. This is Node 16.20.2, and the Node that comes with Callboard',
  );
  expect(program.stderr()).toContain(reason);
  expect(program.stderr()).toContain('Run `npm install`');
});
