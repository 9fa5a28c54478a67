import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { postgresLack } from '../../../../test-support/postgres.ts';
import { createWorktrees } from '../../../orchestrator/src/core/worktrees/worktrees.ts';
import { createGitLab } from '../../../orchestrator/test/support/repository.ts';
import { machineId, machineReport } from '../../../orchestrator/test/support/test-machines.ts';
import { openTestStore, sampleProject, silent, stageId } from '../../../orchestrator/test/support/test-store.ts';
import { findUnrecorded } from './orphaned-worktrees.ts';

it.skipIf(postgresLack !== '')(
  `what a start had made is found out at a later start if git does not work at the first one${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const lab = await createGitLab();
    const path = await lab.repository('shop');
    const project = sampleProject({ path });
    const worktreesOn = (PATH = lab.env.PATH ?? '') =>
      createWorktrees({ dataDir: join(lab.folder, 'data'), env: { ...lab.env, PATH } });
    const made = await worktreesOn().ensure(project, stageId('STAGE-1'), null);
    const { store } = await openTestStore(undefined, 'PostgreSQL');
    const here = machineId(1);
    const orphaned = {
      machineId: here,
      stageId: stageId('STAGE-1'),
      stageTitle: 'Login',
      projectId: project.id,
      projectName: 'shop',
      repository: path,
      worktree: { path: 'STAGE-1', branch: 'callboard/STAGE-1', base: 'HEAD' },
      isRecorded: false,
      isKept: false,
      isTaken: false,
      told: null,
    };
    await store.transact(async (tx) => {
      await tx.machines.register(here, machineReport(), 60_000);
      await tx.orphanedWorktrees.save(orphaned);
    });
    const empty = join(lab.folder, 'no-programs');
    await mkdir(empty);
    await findUnrecorded({ log: silent }, { store, worktrees: worktreesOn(empty), here });
    expect(await store.read.orphanedWorktrees.listOf(here)).toEqual([orphaned]);
    await findUnrecorded({ log: silent }, { store, worktrees: worktreesOn(), here });
    expect(await store.read.orphanedWorktrees.listOf(here)).toEqual([
      { ...orphaned, worktree: made, isRecorded: true },
    ]);
  },
);
