import { readFile } from 'node:fs/promises';
import { parseScripts } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { sampleCommits } from './sample-files.ts';
import { finishedStage, otherStages, waitingStage } from './stages.ts';

it('has a script for every prompt, helpers and imported stages included, and a prompt for every script', async () => {
  const yaml = await readFile(new URL('../../demo/scripts.yaml', import.meta.url), 'utf8');
  const texts = [finishedStage, waitingStage, ...otherStages].map(({ prompt }) => prompt);
  const everything = [...texts, yaml, JSON.stringify(sampleCommits)].join('\n');
  const named = [...everything.matchAll(/\[\[script:@([\w-]+)\]\]/g)].map(([, name]) => name);
  expect(named.toSorted()).toEqual(Object.keys(parseScripts(yaml)).toSorted());
});
