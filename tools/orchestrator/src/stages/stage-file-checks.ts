import type { Project } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { importFailed } from './read-stage-files.ts';
import type { StageFile } from './stage-file.ts';

interface StartPointDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'requireStartPoint'>;
}

/** Checks what git must accept, except for stages that have been started: those keep their branch. @throws Rejection `import_failed` */
export async function requireStartPoints(
  { store, worktrees }: StartPointDeps,
  project: Project,
  files: readonly StageFile[],
): Promise<void> {
  const problems: string[] = [];
  for (const { id, path, base = null, branch = null } of files) {
    if ((base === null && branch === null) || (await store.read.sessions.find(id)) !== null) continue;
    await worktrees.requireStartPoint(project, { base, branch }).catch((error: unknown) => {
      if (!(error instanceof Rejection)) throw error;
      problems.push(`${path}: ${error.message}`);
    });
    const twin = files.find((other) => branch !== null && other.branch === branch && other.id !== id);
    if (twin !== undefined) problems.push(`${path}: its branch ${branch} is also that of ${twin.path}`);
  }
  if (problems.length > 0) throw importFailed(problems);
}

interface PinDeps {
  store: Store;
  /** As `StagesDeps.requireMachine`. */
  requireMachine: (pin: string) => Promise<void>;
}

/** Checks that each machine in the files is there, except for stages that have been started. @throws Rejection `import_failed` */
export async function requirePins({ store, requireMachine }: PinDeps, files: readonly StageFile[]): Promise<void> {
  const problems: string[] = [];
  for (const { id, path, machine = null } of files) {
    if (machine === null || (await store.read.sessions.find(id)) !== null) continue;
    await requireMachine(machine).catch((error: unknown) => {
      if (!(error instanceof Rejection)) throw error;
      problems.push(
        `${path}: machine: ${error.message} Change the key, or take it out to leave the choice to Callboard.`,
      );
    });
  }
  if (problems.length > 0) throw importFailed(problems);
}
