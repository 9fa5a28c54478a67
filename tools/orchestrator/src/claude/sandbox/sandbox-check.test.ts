import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { trySandbox } from './sandbox-check.ts';

describe.runIf(process.platform === 'linux')('on Linux', () => {
  let bin: string;
  beforeEach(async () => {
    bin = join(await temporaryFolder(), 'bin');
    await mkdir(bin);
  });
  const put = async (name: string, script: string) => {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  };

  it('names what is not installed', async () => {
    expect(await trySandbox({ PATH: bin })).toMatchObject({
      state: 'fails',
      why: 'bubblewrap and socat are not installed.',
      how: expect.stringContaining('bubblewrap'),
    });
    await put('bwrap', 'exit 0');
    expect((await trySandbox({ PATH: bin })).why).toBe('socat is not installed.');
  });

  it('does not take the program for the sandbox: a command must run in it', async () => {
    await put('socat', 'exit 0');
    await put('bwrap', 'echo "bwrap: setting up uid map: Permission denied" >&2; exit 1');
    const denied = await trySandbox({ PATH: bin });
    expect(denied.why).toBe('A command in the sandbox does not start: bwrap: setting up uid map: Permission denied.');
    await put('bwrap', 'exit 0'); // runs nothing
    expect(await trySandbox({ PATH: bin })).toMatchObject({ state: 'fails' });
  });

  it('fails where the command has the network of the machine, or root could set what the kernel runs', async () => {
    await put('socat', 'exit 0');
    await put('bwrap', 'echo inside; echo open');
    expect((await trySandbox({ PATH: bin })).why).toContain('runs as root');
  });

  it('waits no longer than it has patience, or is told', async () => {
    await put('socat', 'exit 0');
    await symlink('/bin/sleep', join(bin, 'sleep'));
    await put('bwrap', 'exec sleep 600');
    const stop = AbortSignal.timeout(200);
    expect(await trySandbox({ PATH: bin }, stop)).toMatchObject({ state: 'fails' });
  });
});
