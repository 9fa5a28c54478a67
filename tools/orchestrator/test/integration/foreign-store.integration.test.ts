import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

it('puts a session without a sandbox under alarm when something else writes to the store', async () => {
  const kit = await createKit({ isInFile: true });
  const { client, folder, dataDir } = kit;
  const script = join(folder, 'write.mjs');
  await writeFile(
    script,
    `import { DatabaseSync } from 'node:sqlite';
    const store = new DatabaseSync('${join(dataDir, 'store.sqlite')}', { timeout: 5_000 });
    store.exec('create table by_somebody (value)');`,
  );
  const command = `${process.execPath} ${script}`;
  const steps = [
    { tools: [{ name: 'Bash', input: { command, description: 'Write' } }] },
    { text: 'Done.', hangs: true },
  ];
  const stageId = await kit.startStage(prompt({ steps }), { sandbox: false });
  const { requestId } = await client.event('approval-requested', (asked) => asked.stageId === stageId);
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  expect(await kit.alarm(stageId)).toMatchObject({ code: 'foreign-store' });
});
