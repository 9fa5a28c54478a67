import { setTimeout as sleep } from 'node:timers/promises';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

/** Delays in milliseconds from storing the stage to killing the orchestrator. Some hit the middle of a start on any machine. */
const KILLED_AFTER_MS = [45, 60, 75, 90, 105, 120, 135];

it('automatically restarts, once each, stages whose start was cut off before anything ran', async () => {
  const kit = await createKit({ where: 'apart', maxParallel: 20 });
  const stages: string[] = [];
  for (const ms of KILLED_AFTER_MS) {
    const fields = { projectId: 'shop', title: `After ${ms}`, autoStart: true };
    const text = prompt({ steps: [{ text: 'Done.' }] }, `<${ms}>`);
    const { stage } = await kit.client.command('create_stage', { ...fields, prompt: text });
    stages.push(stage.id);
    await sleep(ms); // the moment of the kill is what this test varies
    await kit.kill();
    await kit.start('apart');
  }
  for (const stageId of stages) {
    await kit.client.state(stageId, 'idle');
    const entries = await kit.client.transcript(stageId);
    expect(entries.flatMap((entry) => (entry.kind === 'text' ? entry.text : []))).toEqual(['Done.']);
    expect(entries.filter(({ kind }) => kind === 'user')).toHaveLength(1);
    expect((await kit.client.command('get_stage', { stageId })).stage.column).toBe('review');
  }
  const asked = kit.model.requests.filter(({ kind }) => kind === 'script').length;
  expect(asked).toBe(KILLED_AFTER_MS.length);
});
