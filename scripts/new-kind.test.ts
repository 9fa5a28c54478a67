/** Holds `docs/interactive-tools.md` to its promise: its example is a whole new kind of request, in three files. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const modules = join(root, 'node_modules');

/** It takes half a minute of an idle machine, and much longer of a busy one. */
const PATIENCE_MS = 600_000;

/** A copy of the sources, without what is built or installed. */
let copy = '';

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'callboard-new-kind-'));
  const isSource = (path: string) => !['node_modules', 'dist'].includes(basename(path));
  const configs = ['package.json', 'tsconfig.base.json', 'tsconfig.node.json'];
  for (const name of [...configs, 'docs', 'scripts', 'test-support', 'tools'])
    await cp(join(root, name), join(copy, name), { recursive: true, filter: isSource });
  await linkModules();
}, PATIENCE_MS);

afterAll(() => rm(copy, { recursive: true, force: true }), PATIENCE_MS);

/** Links what is installed; the packages of the workspace are those of the copy. */
async function linkModules(): Promise<void> {
  await mkdir(join(copy, 'node_modules/@callboard'), { recursive: true });
  for (const name of await readdir(modules))
    if (name !== '@callboard' && !name.startsWith('.'))
      await symlink(join(modules, name), join(copy, 'node_modules', name));
  for (const name of await readdir(join(copy, 'tools')))
    await symlink(join(copy, 'tools', name), join(copy, 'node_modules/@callboard', name));
}

/** The code blocks of the guide that begin with the path of their file. */
async function exampleFiles(): Promise<Map<string, string>> {
  const guide = await readFile(join(root, 'docs/interactive-tools.md'), 'utf8');
  const blocks = guide.matchAll(/^```tsx?\n\/\/ (tools\/\S+)\n([\s\S]*?)^```$/gm);
  return new Map([...blocks].map(([, path = '', text = '']) => [path, text]));
}

/** Fails with all that the program printed. */
async function succeeds(file: string, ...args: string[]): Promise<void> {
  // A test runner tells the programs it starts that they run under it.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV|TEST$)/.test(name)),
  );
  const failed = await run(file, args, { cwd: copy, env }).then(
    () => null,
    (error: Error & { stdout?: string; stderr?: string }) => `${error.message}\n${error.stdout}\n${error.stderr}`,
  );
  expect(failed, `${basename(file)} ${args.join(' ')}`).toBeNull();
}

it('adds a kind of request with the three files of the guide, one of them its test', {
  timeout: PATIENCE_MS,
}, async () => {
  const files = await exampleFiles();
  expect([...files.keys()]).toEqual([
    'tools/orchestrator/src/core/kinds/branch.ts',
    'tools/web-server/src/client/features/approvals/kinds/branch.tsx',
    'tools/orchestrator/src/core/kinds/branch.test.ts',
  ]);
  for (const [path, text] of files) {
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await writeFile(join(copy, path), text);
  }

  await succeeds(process.execPath, 'scripts/write-kinds.ts');
  await succeeds(process.execPath, 'scripts/write-api-docs.ts');
  expect(await readFile(join(copy, 'docs/reference.md'), 'utf8')).toContain('`branch-requested`');

  const tsc = join(modules, '.bin/tsc');
  for (const project of ['tsconfig.node.json', 'tools/web-server/tsconfig.client.json'])
    await succeeds(tsc, '--checkers', '1', '-p', project);

  const tests = ['src/core/kinds/branch.test.ts', 'src/core/kinds/registry.test.ts'];
  await succeeds(process.execPath, join(modules, 'vitest/vitest.mjs'), 'run', '--root', 'tools/orchestrator', ...tests);
});
