import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { hostLocation, hostRule } from '@callboard/contract';
import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { hostIn, neededHosts } from './needed-hosts.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

const write = async (path: string, text: string) => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
};
const needed = (command: string, env: Record<string, string> = {}) =>
  neededHosts(command, { worktree: join(folder, 'work'), env: { HOME: join(folder, 'home'), ...env } });

it('takes the registry of npm from the option, the environment, the project, and the person, in this order', async () => {
  await write('home/.npmrc', 'registry=https://home.example/npm/\n//home.example/:_authToken=secret\n');
  expect(await needed('npm install')).toEqual(['home.example']);
  await write('work/.npmrc', '# registry=https://old.example\n registry = https://work.example\n');
  expect(await needed('pnpm add left-pad')).toEqual(['work.example']);
  const env = { npm_config_registry: 'http://environment.example:4873/' };
  expect(await needed('yarn', env)).toEqual(['environment.example']);
  expect(await needed('npm ci --registry=https://option.example', env)).toEqual(['option.example']);
  expect(await needed('npm i x --registry https://option.example', env)).toEqual(['option.example']);
});

it('adds the registries of scopes', async () => {
  await write('work/.npmrc', 'registry=https://work.example\n@ours:registry=https://ours.example/npm\n');
  expect(await needed('npm ci')).toEqual(['work.example', 'ours.example']);
});

it('takes the hosts of the lock file where no registry is set', async () => {
  const packages = { 'node_modules/a': { resolved: 'https://lock.example/a.tgz' }, 'tools/b': { resolved: 'tools/b' } };
  await write('work/package-lock.json', JSON.stringify({ packages }, null, 2));
  expect(await needed('npm ci')).toEqual(['lock.example']);
  await write('work/.npmrc', 'registry=https://work.example\n');
  expect(await needed('npm ci')).toEqual(['work.example']);
});

it('reads the files of the folder in which the command runs', async () => {
  await write('work/app/yarn.lock', 'a@^1:\n  version "1.0.0"\n  resolved "https://yarn.example/a.tgz#1"\n');
  expect(await needed('cd app && CI=1 timeout 60 yarn install')).toEqual(['yarn.example']);
  expect(await needed("bash -c 'cd app; yarn'")).toEqual(['yarn.example']);
});

it('knows the settings of pip, uv, Cargo and Bundler', async () => {
  await write('home/.config/pip/pip.conf', '[global]\nindex-url = https://pip.example/simple\n');
  await write('work/.cargo/config.toml', '[source.ours]\nregistry = "sparse+https://cargo.example/index/"\n');
  await write('work/Gemfile.lock', 'GEM\n  remote: https://gems.example/\n  specs:\n');
  await write('work/uv.lock', 'sdist = { url = "https://files.example/a.tar.gz", hash = "" }\n');
  expect(await needed('python3 -m pip install -r requirements.txt')).toEqual(['pip.example']);
  expect(await needed('cargo build')).toEqual(['cargo.example']);
  expect(await needed('bundle')).toEqual(['gems.example']);
  expect(await needed('uv sync', { UV_DEFAULT_INDEX: 'https://uv.example/simple' })).toEqual(['uv.example']);
});

it('takes the hosts of git from addresses alone', async () => {
  const address = 'https://ada:token@git.example/shop.git';
  expect(await needed(`git clone --depth 1 ${address} shop && git -C shop pull`)).toEqual(['git.example']);
  expect(await needed('git clone git@git.example:shop.git')).toEqual([]);
  expect(await needed(`git config url.x.insteadOf ${address}`)).toEqual([]);
});

it('names no host for a command that downloads nothing, or of which nothing is known', async () => {
  await write('work/.npmrc', 'registry=https://work.example\n');
  for (const command of ['npm test', 'npm run build', 'echo npm install', './npm install', 'npm $WHAT', '(((', ''])
    expect(await needed(command)).toEqual([]);
});

it('never names this machine, its network, or what is no plain host', () => {
  for (const address of ['http://localhost:1', 'https://127.0.0.1', 'https://nexus', 'https://10.0.0.1/npm'])
    expect(hostIn(address)).toBeNull();
  for (const address of [
    '',
    'tools/b',
    '$REGISTRY',
    'https://',
    'file:///etc',
    'https://*.example',
    'git+ssh://a.example',
  ])
    expect(hostIn(address)).toBeNull();
  expect(hostIn('https://Packages.Example:8443/npm')).toBe('packages.example');
});

it('offers no long list, which nobody would read', async () => {
  const hosts = Array.from({ length: 6 }, (_, at) => `"resolved": "https://h${at}.example/a.tgz"`);
  await write('work/package-lock.json', hosts.join('\n'));
  expect(await needed('npm ci')).toEqual([]);
});

it('is not held up by a pipe in the place of a file', async () => {
  await mkdir(join(folder, 'work'), { recursive: true });
  await promisify(execFile)('mkfifo', [join(folder, 'work/.npmrc')]);
  expect(await needed('npm ci')).toEqual([]);
});

it('survives any file and any command, and then names plain hosts of other machines at most', async () => {
  const line = fc.oneof(
    fc.string(),
    fc.webUrl().map((url) => `registry=${url}`),
    fc.string().map((text) => `registry = https://${text}`),
    fc.webUrl().map((url) => `"resolved": "${url}"`),
  );
  const command = fc.oneof(fc.string(), fc.constantFrom('npm ci', 'yarn', 'bun install'));
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(line), command, async (settings, lock, text) => {
      await write('work/.npmrc', settings.join('\n'));
      await write('work/package-lock.json', lock.join('\n'));
      for (const host of await needed(text)) {
        expect(hostRule(host)).toBe(host);
        expect(hostLocation(host)).toBeNull();
      }
    }),
    { numRuns: 50 },
  );
});
