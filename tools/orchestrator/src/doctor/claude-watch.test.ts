import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { createClaudeWatch, type Tried } from './claude-watch.ts';

/** A program that prints its version, counts how often it was asked, and starts no session. */
async function fakeClaude(folder: string, version: string): Promise<string> {
  const path = join(folder, 'claude');
  const asked = `echo asked >> '${join(folder, 'asked')}'; echo '${version} (Claude Code)'`;
  const help = "printf 'Options:\\n  --effort <level>\\n'";
  const script = `#!/bin/sh\ncase "$1" in --version) ${asked};; --help) ${help};; *) exit 1;; esac\n`;
  await writeFile(path, script);
  await chmod(path, 0o755);
  return path;
}

async function watch(version: string, trialDelayMs = 1_000_000) {
  const folder = await temporaryFolder();
  const path = await fakeClaude(folder, version);
  const timesAsked = async () => (await readFile(join(folder, 'asked'), 'utf8')).trim().split('\n').length;
  const open = () => {
    const watched = createClaudeWatch({
      dataDir: folder,
      log: pino({ level: 'silent' }),
      findClaude: async () => path,
      trialDelayMs,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder },
    });
    onTestFinished(watched.stop);
    return watched;
  };
  return { folder, open, timesAsked };
}

it('refuses a version that is too old with an explanation, and warns about it on the board', async () => {
  const { open } = await watch('2.0.77');
  const claude = open();
  await expect(claude.program()).rejects.toMatchObject({
    code: 'claude_too_old',
    message: expect.stringMatching(/^Claude Code 2\.0\.77 .* is too old: .*claude update/),
  });
  expect(await claude.warnings()).toEqual([expect.stringContaining('2.0.77')]);
});

it('asks a program once, even across a restart, and again if its file changed or was invalidated', async () => {
  const { folder, open, timesAsked } = await watch('2.1.330');
  const claude = open();
  await Promise.all([claude.program(), claude.program(), claude.warnings()]);
  expect(await timesAsked()).toBe(1);
  await open().program();
  expect(await timesAsked()).toBe(1);
  claude.saw('2.1.330');
  await claude.program();
  expect(await timesAsked()).toBe(1);
  claude.invalidate();
  await claude.program();
  expect(await timesAsked()).toBe(2);
  await fakeClaude(folder, '2.1.331-next');
  expect(await claude.program()).toMatchObject({ version: '2.1.331-next' });
  expect(await timesAsked()).toBe(3);
});

it('knows the gaps of a published release without trying it', async () => {
  const { open } = await watch('2.1.251');
  const { gaps } = await open().program();
  expect(gaps).toContain('tools that a hook allows go unnoticed');
  expect(gaps).toContain('subagent text is not shown'); // its help does not list the option
  expect((await open().warnings()).join()).toContain('tools that a hook allows go unnoticed');
});

it('tries an unknown version once in the background, saves the result and reports it', async () => {
  const { open } = await watch('9.9.9', 0);
  const claude = open();
  const tried = new Promise<Tried | null>((resolve) => void claude.onTried(resolve));
  expect((await claude.program()).gaps).not.toContain('sessions do not start');
  expect(await tried).toMatchObject({ version: '9.9.9', gaps: expect.arrayContaining(['sessions do not start']) });
  expect((await claude.warnings()).join()).toContain('sessions do not start');
  expect((await open().program()).gaps).toContain('sessions do not start');
});
