import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { identify } from '@callboard/runtime/process-identity';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';

it.runIf(process.platform === 'linux')(
  'ends a process whose pid it has not been told when its parent is killed',
  async () => {
    const folder = await temporaryFolder();
    const root = join(folder, 'lab');
    await mkdir(root);
    const program = `
    import { spawn } from 'node:child_process';
    const { startCleanupGuard } = await import(process.argv[1]);
    await startCleanupGuard(process.argv[2]);
    const child = spawn('sleep', ['600'], { env: { TMPDIR: process.argv[2] + '/tmp' }, detached: true, stdio: 'ignore' });
    process.stdout.write(String(child.pid));
    setInterval(() => undefined, 1_000);
  `;
    const module = new URL('cleanup-guard.ts', import.meta.url).href;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program, module, root], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [printed] = await once(parent.stdout, 'data');
    const pid = Number(printed);
    expect(await identify(pid)).not.toBeNull();
    parent.kill('SIGKILL');
    await until('it is ended', async () => (await identify(pid)) === null);
    await until('its folder is gone', async () => (await readdir(folder)).length === 0);
  },
);
