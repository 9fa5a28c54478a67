import { Completion, Removal, StageDiff, TrashEntry } from '@callboard/contract';
import { at, project, stage } from './example-values.ts';

/** The values of examples about worktrees and their changes. */

export const diff = StageDiff.parse({
  base: '6f1ed002ab5595859014ebf0951522d9d0b6a3c1',
  branch: 'callboard/STAGE-1',
  head: '0c2f6a3d8be1474d0c1f43a1d6d9a2f6a5b0e7c9',
  tree: '9b1de2a4c50f7d3e68a4bb2c17f0d9635e8ac741',
  unread: [],
  files: [
    {
      path: 'src/login.ts',
      oldPath: null,
      status: 'added',
      oldMode: null,
      newMode: '100644',
      additions: 1,
      deletions: 0,
      isBinary: false,
      patch: '@@ -0,0 +1 @@\n+export {};\n',
    },
  ],
});

export const completion = Completion.parse({
  plan: {
    branch: 'callboard/STAGE-1',
    head: '5be1a5d6a2d0c7d4f0a1c7c3a3f6e1b2d4c5e6f7',
    tree: '8f7e6d5c4b3a29181706f5e4d3c2b1a098765432',
    into: 'main',
    commits: 1,
    files: 3,
    uncommitted: [],
    uncommittedCount: 0,
    conflicts: [],
    refusal: null,
  },
  undo: null,
});

export const removal = Removal.parse({
  worktree: '/data/worktrees/web/STAGE-1',
  left: null,
  files: [{ path: 'notes/plan.md', bytes: 812 }],
  fileCount: 1,
  bytes: 812,
  buildFolders: [{ path: 'node_modules', bytes: 212_345_678 }],
  branch: { name: 'callboard/STAGE-1', isKept: true },
});

export const trashEntry = TrashEntry.parse({
  id: '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e61',
  projectId: project.id,
  projectName: 'Web',
  stageId: stage.id,
  stageTitle: stage.title,
  by: 'ada',
  at,
  expiresAt: '2026-12-20T09:00:00.000Z',
  files: removal.files,
  fileCount: 1,
  bytes: 812,
  worktree: null,
});
