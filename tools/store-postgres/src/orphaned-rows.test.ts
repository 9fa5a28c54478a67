import { expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../test-support/postgres.ts';
import { machineId, machineReport } from '../../orchestrator/test/support/test-machines.ts';
import { openTestStore, sampleProject, sampleStage } from '../../orchestrator/test/support/test-store.ts';

const ATTIC = machineId(1);
const WORKTREE = { path: '/attic/worktrees/shop/STAGE-1-2', branch: 'callboard/STAGE-1-2', base: 'c0ffee' };

it.skipIf(postgresLack !== '')(
  `a database from before knows the worktrees of stages that are still lost${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const { store, openAgain } = await openTestStore(undefined, 'PostgreSQL');
    const lost = { machineId: ATTIC, machine: 'attic', at: '2026-01-02T00:00:00.000Z', by: 'Ada' };
    const project = sampleProject({ name: 'Shop “one”' });
    await store.transact(async (tx) => {
      await tx.machines.register(ATTIC, machineReport({ name: 'attic' }), 60_000);
      await tx.projects.save(project);
      await tx.projectLocations.save({ projectId: project.id, machineId: ATTIC, path: '/attic/shop', remote: null });
      await tx.stages.insert(sampleStage({ id: 'STAGE-1', title: 'Lost', lost: { ...lost, worktree: WORKTREE } }));
      await tx.stages.insert(sampleStage({ id: 'STAGE-2', lost: { ...lost, worktree: null } }));
      await tx.stages.insert(sampleStage({ id: 'STAGE-3', worktree: WORKTREE }));
      const db = Reflect.get(tx, 'db');
      await db.schema.dropTable('former_worktrees').execute();
      await db.schema.alterTable('stages').dropColumn('creation_id').execute();
      await db.updateTable('cluster_state').set({ version: 36 }).execute();
    });
    const migrated = await openAgain();
    onTestFinished(migrated.close);
    const found = await migrated.read.orphanedWorktrees.listOf(ATTIC);
    expect(found).toEqual([
      {
        machineId: ATTIC,
        stageId: 'STAGE-1',
        stageTitle: 'Lost',
        projectId: project.id,
        projectName: project.name,
        repository: '/attic/shop',
        worktree: WORKTREE,
        isRecorded: true,
        isKept: false,
        isTaken: false,
        told: null,
      },
    ]);
    const [first = expect.fail()] = found;
    await migrated.transact((tx) => tx.orphanedWorktrees.save({ ...first, isKept: true }));
    expect(await migrated.read.orphanedWorktrees.listOf(ATTIC)).toMatchObject([{ isKept: true }]);
    await migrated.transact((tx) => tx.orphanedWorktrees.remove(first));
    expect(await migrated.read.orphanedWorktrees.listOf(ATTIC)).toEqual([]);
  },
);
