import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { checkSandbox } from './sandbox.ts';

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

  it('names the missing programs', async () => {
    expect(await checkSandbox({ PATH: bin })).toMatchObject({
      state: 'fails',
      why: 'bubblewrap and socat are not installed.',
      how: expect.stringContaining('bubblewrap'),
    });
    await put('bwrap', 'exit 0');
    expect((await checkSandbox({ PATH: bin })).why).toBe('socat is not installed.');
  });

  it('requires that a command runs inside, not just that the program exists', async () => {
    await put('socat', 'exit 0');
    await put('bwrap', 'echo "bwrap: setting up uid map: Permission denied" >&2; exit 1');
    const denied = await checkSandbox({ PATH: bin });
    expect(denied.why).toBe('A command in the sandbox does not start: bwrap: setting up uid map: Permission denied.');
    await put('bwrap', 'exit 0'); // runs nothing
    expect(await checkSandbox({ PATH: bin })).toMatchObject({ state: 'fails' });
  });

  it('fails when the command shares the network of the machine, or root could change kernel settings', async () => {
    await put('socat', 'exit 0');
    await put('bwrap', 'echo inside; echo open');
    expect((await checkSandbox({ PATH: bin })).why).toContain('runs as root');
  });

  it('ends when it times out or is aborted', async () => {
    await put('socat', 'exit 0');
    await symlink('/bin/sleep', join(bin, 'sleep'));
    await put('bwrap', 'exec sleep 600');
    const stop = AbortSignal.timeout(200);
    expect(await checkSandbox({ PATH: bin }, stop)).toMatchObject({ state: 'fails' });
  });
});
