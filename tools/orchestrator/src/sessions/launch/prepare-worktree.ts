import type { LeftOut, NewTranscriptEntry, Project, Stage, StageId, Worktree } from '@callboard/contract';
import { changeSession } from '../../domain/change-session.ts';
import { addEntry } from '../../domain/session-change.ts';
import { requireStage } from '../../store/require.ts';
import type { Store } from '../../store/store.ts';
import type { LaunchTrust } from '../../trust/launch-trust.ts';
import type { Trust } from '../../trust/trust.ts';
import type { Worktrees } from '../../worktrees/worktrees.ts';

/** Where a launch works, and what it may take from settings files. */
export interface LaunchPlace {
  stage: Stage;
  project: Project;
  cwd: string;
  trust: LaunchTrust;
}

/** Makes or finds the stage's worktree, and keeps it in the stage. @throws OperationalError `worktree_failed` */
export async function prepareWorktree(
  { store, worktrees, trust }: { store: Store; worktrees: Worktrees; trust: Pick<Trust, 'forLaunch'> },
  stageId: StageId,
): Promise<LaunchPlace> {
  const stage = await store.read.stages.find(stageId);
  const project = stage === null ? null : await store.read.projects.find(stage.projectId);
  if (stage === null || project === null) throw new Error(`${stageId} or its project is gone`);
  const told: string[] = [];
  const worktree = await worktrees.ensure(project, stageId, stage.worktree, (notice) => told.push(notice));
  if (told.length > 0 || !isSame(stage.worktree, worktree)) {
    await store.transact(async (tx) => {
      await changeSession(tx, stageId, (change) => {
        for (const text of told) addEntry(change, tx.now, worktreeNotice(text));
      });
      const updated = { ...(await requireStage(tx, stageId)), worktree, updatedAt: tx.now };
      await tx.stages.update(updated);
      await tx.emit({ type: 'stage-updated', data: { stageId, stage: updated } });
    });
  }
  return { stage, project, cwd: worktree.path, trust: await trust.forLaunch(project, worktree) };
}

const isSame = (one: Worktree | null, other: Worktree): boolean =>
  one?.path === other.path && one.branch === other.branch && one.base === other.base;

const worktreeNotice = (text: string): NewTranscriptEntry => ({
  kind: 'notice',
  parentToolUseId: null,
  level: 'warning',
  code: 'worktree',
  text,
});

/** Longer lists of what is unavailable end with the number of the others. */
const MAX_NAMED = 12;

/** Tells in the transcript that a launch goes without the repository's settings, so that nobody believes they apply. */
export function leftOutNotice({ summary, unavailable }: LeftOut): NewTranscriptEntry {
  const first = `This session started without ${summary}, because nobody has trusted the repository as it is now.`;
  const others = unavailable.length - MAX_NAMED;
  const named = others > 0 ? [...unavailable.slice(0, MAX_NAMED), `${others} more`] : unavailable;
  const without = named.length === 0 ? '' : ` Not available: ${named.join(', ')}.`;
  const text = `${first}${without} Its CLAUDE.md, its deny and ask rules and your own settings are in use. If you trust it, the next start uses the rest.`;
  return { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'settings-left-out', text };
}

/** Said where a rule that Claude Code finds in a file is asked for, since nobody has agreed to it. */
export function newRulesNotice(rules: readonly { value: string; file: string }[]): NewTranscriptEntry {
  const named = rules.map(({ value, file }) => `${value} (${file})`).join(', ');
  const text = `New since anybody looked, so asked for all the same: ${named}. If that was you, agree to it on the project’s Rules page.`;
  return { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'new-rules', text };
}
