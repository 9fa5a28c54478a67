import { ProjectId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { openTestStore, sampleProject } from '../../test/support/test-store.ts';
import { createStages } from './stages.ts';

it('keeps each dependency once, in the given order', async () => {
  const { store, addStage } = await openTestStore();
  const [a, b] = [await addStage(), await addStage()];
  const stages = createStages({ store, worktrees: { requireStartPoint: async () => undefined } });
  const projectId = ProjectId.parse(sampleProject().id);
  const made = await stages.create({ projectId, title: 'T', prompt: 'P', dependsOn: [b, a, b] });
  expect(made.dependsOn).toEqual([b, a]);
  expect((await stages.update(made.id, { dependsOn: [a, a] })).dependsOn).toEqual([a]);
  expect((await stages.update(made.id, { title: 'U' })).dependsOn).toEqual([a]);
});
