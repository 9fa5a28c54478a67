import { readFile } from 'node:fs/promises';
import { parseScripts } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { finishedStage, otherStages, sampleCommits, waitingStage } from './run-demo.ts';

it('has a script for every prompt, helpers and imported stages included, and a prompt for every script', async () => {
  const yaml = await readFile(new URL('../../demo/scripts.yaml', import.meta.url), 'utf8');
  const scripts = Object.values(parseScripts(yaml));
  const prompts = [finishedStage, waitingStage, ...otherStages].map(({ prompt }) => prompt);
  const helpers = scripts
    .flatMap(({ steps }) => steps.flatMap(({ tools = [] }) => tools))
    .filter(({ name }) => name === 'Agent')
    .map(({ input }) => String(input.prompt));
  const imported = sampleCommits.flatMap(({ files }) =>
    Object.entries(files).flatMap(([path, text]) => (path.startsWith('stages/') ? [text.split('---\n').at(-1)] : [])),
  );
  const all = [...prompts, ...helpers, ...imported.map((text) => text?.trim())];
  expect(all.toSorted()).toEqual(scripts.map(({ when }) => when).toSorted());
});
