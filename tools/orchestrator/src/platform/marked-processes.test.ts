import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { findMarkedProcesses, hasProcessWith, LAUNCH_MARKER } from './process-table.ts';

it.runIf(process.platform === 'linux')('finds a process at the moment at which it starts another program', async () => {
  const launchId = randomUUID();
  const script = join(await temporaryFolder(), 'always-another');
  await writeFile(script, '#!/bin/sh\nexec "$0"\n', { mode: 0o755 });
  const child = spawn(script, { env: { PATH: process.env.PATH, [LAUNCH_MARKER]: launchId }, stdio: 'ignore' });
  await once(child, 'spawn');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  for (let n = 0; n < 60; n++) expect((await findMarkedProcesses()).get(launchId)).toEqual([child.pid]);
  for (let n = 0; n < 60; n++) expect(await hasProcessWith(`${LAUNCH_MARKER}=${launchId}`)).toBe(true);
});
