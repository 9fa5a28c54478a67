import { execFile } from 'node:child_process';
import { access, chmod, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { mcpServer } from '../../../../test-support/mcp-server.ts';
import { until } from '../../../../test-support/until.ts';
import { canIsolate } from '../../src/platform/bubblewrap.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { killProcess, livingProcess } from '../support/living-process.ts';
import { write } from '../support/settings-files.ts';

/** What `docs/sandbox.md` says about a session whose commands run in the sandbox, row by row. */

const run = promisify(execFile);
const works = (command: string, ...args: string[]) =>
  run(command, args).then(
    () => true,
    () => false,
  );
/** Installed programs prove nothing: the system may keep bubblewrap from making a sandbox. */
const hasSandbox = (await canIsolate({ PATH: process.env.PATH ?? '' })).possible && (await works('socat', '-V'));

const SERVER = "require('http').createServer((q, r) => r.end('served')).listen(4567)";
const TEST = `const { test } = require('node:test');
test('listens', async () => {
  const server = require('http').createServer((q, r) => r.end('answered')).listen(0);
  await require('events').once(server, 'listening');
  console.log(await (await fetch('http://127.0.0.1:' + server.address().port)).text());
  server.close();
});`;

/** Prints where it runs: this variable is set in the sandbox. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is for a shell
const WHERE = 'echo "ran ${SANDBOX_RUNTIME:+inside}"';

/** A turn of many commands, including builds and a server; one took 14 s on a busy machine. */
const WHOLE_TURN = { withinMs: 60_000 };

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** Creates a typical project repository with a dependency, a test that opens a port, a hook and a remote; and a person's own settings. */
async function setUp(): Promise<Kit> {
  const kit = await createKit();
  const { client, projectId, repo, folder, env } = kit;
  await write(repo, {
    'dep/package.json': { name: 'dep', version: '1.0.0' },
    'package.json': { name: 'shop', version: '1.0.0', dependencies: { dep: 'file:./dep' } },
    'shop.test.js': TEST,
    'server.js': SERVER,
    'fork.js':
      "const { fork } = require('child_process');\nif (process.send) process.send('from the child', () => process.exit());\nelse fork(__filename).on('message', console.log);",
    '.gitignore': 'node_modules\n',
    '.git/hooks/pre-commit': `#!/bin/sh\n${WHERE}\n`,
  });
  await chmod(join(repo, '.git/hooks/pre-commit'), 0o755);
  await git(repo, 'add', '--all');
  await git(repo, 'commit', '--quiet', '-m', 'A shop');
  await git(folder, 'clone', '--quiet', '--bare', repo, join(folder, 'origin.git'));
  await git(repo, 'remote', 'add', 'origin', join(folder, 'origin.git'));
  const hook = { type: 'command', command: `${WHERE} > ${join(folder, 'by-hook')}` };
  await write(env.HOME ?? '', {
    '.claude.json': { mcpServers: { place: mcpServer({ tools: ['where'] }) } },
    '.claude/settings.json': { hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [hook] }] } },
    '.claude/.credentials.json': { note: 'secret' },
  });
  await client.notices(({ sandbox }) => sandbox.state === 'works');
  await client.command('update_project', { projectId, settings: { sandbox: true, sandboxAutoAllow: true } });
  return kit;
}

type Step = string | { name: string; input: Record<string, unknown> };

/** Has a new stage run these commands one after the other; a person allows each request, but no network. @returns what each printed */
async function runAll(
  kit: Kit,
  steps: readonly Step[],
  fields: object = {},
): Promise<{ stageId: string; said: string[] }> {
  const { client } = kit;
  const tools = steps.map((step) =>
    typeof step === 'string' ? { name: 'Bash', input: { command: step, description: 'Try' } } : step,
  );
  const stageId = await kit.startStage(
    prompt({ steps: [...tools.map((tool) => ({ tools: [tool] })), { text: 'Done.' }] }),
    {
      ...fields,
    },
  );
  const idle = client.state(stageId, 'idle', WHOLE_TURN).then(() => null);
  const answered = new Set<string>();
  const isNew = (asked: { stageId: string; requestId: string }) =>
    asked.stageId === stageId && !answered.has(asked.requestId);
  for (;;) {
    const approval = client.event('approval-requested', isNew, WHOLE_TURN);
    const network = client.event('network-requested', isNew, WHOLE_TURN);
    const asked = await Promise.race([idle, approval, network]);
    if (asked === null) break;
    answered.add(asked.requestId);
    const decision = asked.kind === 'network' ? 'deny' : 'allow';
    await client.command('approve_tool', { stageId, requestId: asked.requestId, decision });
  }
  const entries = await client.transcript(stageId);
  const calls = entries.filter((entry) => entry.kind === 'tool-use');
  const results = entries.filter((entry) => entry.kind === 'tool-result');
  return { stageId, said: calls.map((call) => results.find((one) => one.toolUseId === call.toolUseId)?.text ?? '') };
}

/** Prints whether each of these folders can be written. */
const writable = (...folders: string[]) =>
  folders
    .map((path) => `(mkdir -p ${path} && touch ${path}/.probe && rm ${path}/.probe) 2>/dev/null && echo yes || echo no`)
    .join('; ');

describe.skipIf(!hasSandbox)('a stage whose commands run in the sandbox (needs bubblewrap and socat)', () => {
  it('works on its branch, builds, tests and serves, and does not touch the rest of the machine', async () => {
    const kit = await setUp();
    const { client, repo, env } = kit;
    const { stageId, said } = await runAll(kit, [
      'echo one > one.txt; git add -A && git commit -m One && git show --stat --format=%s HEAD',
      'echo two > two.txt; git stash -u -q && git stash pop -q && git add -A && git commit -qm Two && git fetch -q origin && git rebase -q origin/main && git tag mine && git log --format=%s | head -2 && git status --porcelain',
      `git config user.name Eve; echo "$?"; touch ${repo}/x || touch ../x || touch "$HOME/x"; git push -q origin HEAD; echo "$?"`,
      'npm install --no-audit --no-fund && ls node_modules && npm pack --silent ./dep && npm cache add ./dep-1.0.0.tgz && ls "$npm_config_cache"',
      'node --test',
      'node server.js & until curl -sf http://127.0.0.1:4567; do :; done; kill %1',
      'node fork.js',
      writable('"$TMPDIR"', '/dev/shm', '/tmp', '"$HOME/.npm/_cacache"', '"$HOME/.cache/pip"'),
      'echo kept > "$TMPDIR/kept"; echo gone > /dev/shm/gone; sleep 300 & kill %1; wait %1; echo "ended $?"; tty; cat; ls -d /proc/[0-9]* | wc -l',
      'cat "$TMPDIR/kept"; ls /dev/shm; ls -d ~/.claude/.credentials.json ~/.claude; cat ~/.claude/.credentials.json',
      'seq 100000',
    ]);
    const [commit, more, refused, install, test, served, forked, folders, processes, later, long] = said;
    expect.soft(commit).toContain('ran inside');
    expect.soft(commit).toMatch(/One\n\n one.txt \| 1 \+\n 1 file changed/);
    expect.soft(more).toMatch(/\nTwo\nOne$/); // no new or changed files follow
    expect.soft(refused).toMatch(/could not write config file.*\n4\n(touch: .*Read-only file system\n){3}/);
    expect.soft(install).toMatch(/added 1 package.*\n(.*\n)*dep\n(.*\n)*_cacache/);
    expect.soft(test).toMatch(/answered\n(.*\n)*.*pass 1/);
    expect.soft(served).toBe('served');
    expect.soft(forked).toMatch(/^from the child/);
    expect.soft(folders).toBe('yes\nyes\nno\nno\nno');
    expect.soft(processes).toMatch(/ended 143\nnot a tty\n\s*\d\d?$/);
    expect.soft(later).toMatch(/^(Exit code 1\n)?kept\n/); // its last command fails
    expect.soft(later).not.toContain('gone');
    expect.soft(later).not.toContain('secret');
    expect.soft(long).toContain('Output too large');
    expect.soft(await git(repo, 'config', 'user.name')).toBe('Test');
    const { session } = await client.command('get_session', { stageId });
    expect.soft(session.isolation).toMatchObject({ level: 'prevented' });
    expect.soft(await readFile(join(env.HOME ?? '', '.claude', '.credentials.json'), 'utf8')).toContain('secret');
  });

  it('exposes a server only to its own command, and no file that exists only in the sandbox', async () => {
    const kit = await setUp();
    const { client, repo } = kit;
    const check = 'curl -sS http://127.0.0.1:4567; echo "curl $?"';
    const { stageId, said } = await runAll(kit, [
      'echo new > new.txt',
      { name: 'Bash', input: { command: 'node server.js', description: 'Serve', run_in_background: true } },
      check,
      'curl -sS --max-time 20 http://nowhere.invalid:8080/; echo "curl $?"',
    ]);
    expect(said[2]).toMatch(/Failed to connect.*\n(.*\n)*curl 7/);
    expect(said[3]).toContain('user denied');
    const { stage } = await client.command('get_stage', { stageId });
    const ghost = join(stage.worktree?.path ?? '', '.bashrc');
    const lock = join(repo, '.git', 'config.lock');
    expect([await isThere(ghost), await isThere(lock)]).toEqual([true, false]); // the server still runs in the sandbox
    await git(repo, 'config', 'user.nickname', 'Ada');
    const { diff } = await client.command('get_diff', { stageId });
    expect(diff.files.map(({ path }) => path)).toEqual(['new.txt']);

    await killProcess(await livingProcess(kit, stageId));
    await until('all is cleared away', async () => !(await isThere(ghost)));

    const outside = await runAll(
      kit,
      [
        { name: 'Bash', input: { command: 'node server.js', description: 'Serve', run_in_background: true } },
        `until curl -sf http://127.0.0.1:4567; do :; done`,
      ],
      { sandbox: false },
    );
    expect(outside.said[1]).toBe('served');
  });

  it('runs MCP servers, hooks and file tools outside, and opens sockets where the project allows it', async () => {
    const kit = await setUp();
    const { client, folder, projectId } = kit;
    const socket = join(folder, 'daemon.sock');
    const server = createServer((caller) => caller.end('from the daemon')).listen(socket);
    try {
      const talk = `node -e "require('net').connect('${socket}').on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code))"`;
      const write = { name: 'Write', input: { file_path: join(folder, 'by-claude'), content: 'x' } };
      const first = await runAll(kit, [WHERE, { name: 'mcp__place__where', input: {} }, write, talk]);
      expect(first.said[0]).toBe('ran inside');
      expect(first.said[1]).toContain('outside');
      expect(await readFile(join(folder, 'by-hook'), 'utf8')).toBe('ran \n');
      expect(await isThere(join(folder, 'by-claude'))).toBe(true);
      expect(first.said[3]).toBe('EPERM');

      await client.command('update_project', { projectId, settings: { sandboxSockets: [socket] } });
      const second = await runAll(kit, [talk]);
      expect(second.said[0]).toBe('from the daemon');
      const { session } = await client.command('get_session', { stageId: second.stageId });
      expect(session.isolation).toMatchObject({ level: 'noticed', reason: 'loosened' });
    } finally {
      server.close();
    }
  });
});
