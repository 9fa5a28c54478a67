import { type MachineId, ProjectId, type Stage } from '@callboard/contract';
import { expect, it } from 'vitest';
import { machineId } from '../../../test/support/test-machines.ts';
import { sampleStage, stageId } from '../../../test/support/test-store.ts';
import { isOnMachine, orphanFate } from './trash.ts';

const [ATTIC, DESK] = [machineId(1), machineId(2)];
const at = (path: string) => ({ path, branch: 'callboard/STAGE-1', base: 'c0ffee' });
const PATH = '/home/ann/.callboard/worktrees/shop/STAGE-1';
const lostOn = (machine: MachineId, path: string | null) => ({
  machineId: machine,
  machine: 'some',
  at: '2026-01-02T00:00:00.000Z',
  by: 'Ada',
  worktree: path === null ? null : at(path),
});

const orphaned = {
  machineId: ATTIC,
  stageId: stageId('STAGE-1'),
  stageTitle: 'Login',
  projectName: 'Shop',
  repository: '/shop',
  projectId: ProjectId.parse('shop'),
  worktree: at(PATH),
  isRecorded: true,
  isKept: true,
  isTaken: false,
  told: null,
};

const FATES: [string, Partial<Stage> | null, string][] = [
  ['was deleted', null, 'deleted'],
  ['was lost with this machine', { lost: lostOn(ATTIC, PATH) }, 'waits'],
  [
    'was lost with this machine, and completed',
    { lost: lostOn(ATTIC, PATH), completedAt: '2026-01-03T00:00:00.000Z' },
    'done',
  ],
  ['goes on in it', { machineId: ATTIC, worktree: at(PATH) }, 'own'],
  [
    'goes on in it, after the data directory was moved',
    { machineId: ATTIC, worktree: at('/srv/worktrees/shop/STAGE-1') },
    'own',
  ],
  ['goes on here, in another one', { machineId: ATTIC, worktree: at(`${PATH}-2`) }, 'elsewhere'],
  ['was started elsewhere, at the same path', { machineId: DESK, worktree: at(PATH) }, 'elsewhere'],
  [
    'is being started elsewhere, and has no worktree there yet',
    { machineId: DESK, lost: lostOn(ATTIC, PATH) },
    'waits',
  ],
  ['was lost elsewhere after it had a worktree there', { lost: lostOn(DESK, PATH) }, 'elsewhere'],
  ['was lost elsewhere before it had a worktree there', { lost: lostOn(DESK, null) }, 'waits'],
  ['was lost here again, in another one', { lost: lostOn(ATTIC, `${PATH}-2`) }, 'elsewhere'],
  [
    'is done elsewhere',
    { machineId: DESK, worktree: at('/x/STAGE-1'), completedAt: '2026-01-03T00:00:00.000Z' },
    'elsewhere',
  ],
];

it.each(FATES)('knows what becomes of an old worktree whose stage %s', (_, fields, fate) => {
  const stage = fields === null ? null : sampleStage({ id: 'STAGE-1', worktree: null, ...fields });
  expect(orphanFate(orphaned, stage)).toBe(fate);
});

it('counts a worktree on the machine that has the stage, and on the only one', () => {
  expect(isOnMachine({ machineId: DESK }, DESK)).toBe(true);
  expect(isOnMachine({ machineId: DESK }, ATTIC)).toBe(false);
  expect(isOnMachine({ machineId: null }, null)).toBe(true);
});
