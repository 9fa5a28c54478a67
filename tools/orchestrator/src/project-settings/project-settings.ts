import {
  mergedSettings,
  type NamedPipeline,
  type Project,
  type ProjectFile,
  type ProjectId,
  pipelinesOf,
  type SettingsProblem,
  type Stage,
  type StageId,
  WORKSPACE_KEYS,
  type WorkspaceKey,
  type WorkspaceSettings,
  type Worktree,
} from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { type FileItem, fileItems, itemKey } from './file-items.ts';
import { FILE_NAME, type ParsedFile, parseFile } from './parse-file.ts';

/** The settings in force, and where they come from. */
export interface EffectiveSettings {
  settings: WorkspaceSettings;
  /** The keys that `callboard.yaml` decides. */
  fromFile: WorkspaceKey[];
  /** Why the file cannot be used; then none of it is. */
  problems: SettingsProblem[];
  /** Whether people agreed to everything that the file would run. */
  isAgreed: boolean;
  /** All pipelines to choose from, those of the file first. */
  pipelines: NamedPipeline[];
}

/** The pipelines to choose from at one commit. */
export interface OfferedPipelines extends Pick<EffectiveSettings, 'pipelines' | 'problems' | 'isAgreed'> {
  /** Where `callboard.yaml` was read; null: at the main checkout's current commit. */
  at: string | null;
}

/** What a repository's file says, and what of that needs a person's agreement. */
export interface FileOfRepository {
  /** Null: there is none. */
  file: ProjectFile | null;
  items: FileItem[];
}

/** Reads the settings of projects: those that people made, and those in the repository, which win. */
export interface StageSettings {
  /** The settings of a stage: its file is that of the commit that its worktree began at. @throws Rejection `unknown_stage` */
  ofStage(stageId: StageId): Promise<EffectiveSettings>;
  /**
   * The pipelines that a stage may name: the file is that of the commit at which its worktree began, or would begin by what was
   * fetched last. @throws Rejection `unknown_project`
   */
  pipelinesFor(projectId: ProjectId, stage: Pick<Stage, 'base' | 'worktree'>): Promise<OfferedPipelines>;
  /** The settings of new stages: the file is that of the main checkout's current commit. @throws Rejection `unknown_project` */
  ofProject(projectId: ProjectId): Promise<EffectiveSettings>;
  /**
   * As `ofStage`, for running something.
   * @param key what is to be run: agreement is needed if the file decides it; without a key, if the file runs anything
   * @throws Rejection `settings_invalid`, `settings_not_agreed`
   */
  requireUsable(stageId: StageId, key?: WorkspaceKey): Promise<WorkspaceSettings>;
  /**
   * The settings in force for a stage that is about to get its worktree; of one that a person starts without set-up, if the file
   * cannot be used, those that people made. @throws Rejection `settings_invalid`
   */
  ofNewStage(stage: Stage): Promise<WorkspaceSettings>;
  /** Reads the file; with a worktree, that of the commit it began at. */
  fileOf(project: Project, worktree: Worktree | null): Promise<FileOfRepository>;
}

const offered = ({ pipelines, problems, isAgreed }: EffectiveSettings, at: string | null): OfferedPipelines => ({
  pipelines,
  problems,
  isAgreed,
  at,
});

const NO_FILE: ParsedFile = { settings: {}, problems: [] };

export function createStageSettings({
  store,
  worktrees,
}: {
  store: Pick<Store, 'read'>;
  worktrees: Pick<Worktrees, 'fileAt' | 'knownBase'>;
}): StageSettings {
  async function read(project: Project, revision: string): Promise<ParsedFile | null> {
    const text = await worktrees.fileAt(project, revision, FILE_NAME);
    return text === null ? null : parseFile(text);
  }

  async function effective(project: Project, revision: string): Promise<EffectiveSettings> {
    const { settings: file, problems } = (await read(project, revision)) ?? NO_FILE;
    const agreed = (await store.read.agreed.find(project.id))?.commands ?? [];
    return {
      settings: mergedSettings(project.settings, file),
      fromFile: WORKSPACE_KEYS.filter((key) => file[key] !== undefined),
      problems,
      isAgreed: fileItems(file).every((item) => agreed.includes(itemKey(item))),
      pipelines: pipelinesOf({ file: file.pipelines ?? {}, own: project.settings.pipelines }),
    };
  }

  async function ofStage(stageId: StageId): Promise<EffectiveSettings> {
    const stage = await requireStage(store.read, stageId);
    const project = await requireProject(store.read, stage.projectId);
    return effective(project, stage.worktree?.base ?? stage.base ?? 'HEAD');
  }

  return {
    ofStage,
    async pipelinesFor(projectId, { base, worktree }) {
      const project = await requireProject(store.read, projectId);
      const begun = worktree?.base ?? base;
      if (begun !== null) return offered(await effective(project, begun), begun);
      const current = await effective(project, 'HEAD');
      const at = await worktrees.knownBase(project, current.settings);
      return offered(at === null ? current : await effective(project, at), at);
    },
    ofProject: async (projectId) => effective(await requireProject(store.read, projectId), 'HEAD'),
    async ofNewStage(stage) {
      const { settings, problems } = await effective(await requireProject(store.read, stage.projectId), 'HEAD');
      if (problems.length > 0 && stage.setup !== 'skipped')
        throw new Rejection('settings_invalid', problemText(problems));
      return settings;
    },
    async requireUsable(stageId, key) {
      const { settings, problems, isAgreed, fromFile } = await ofStage(stageId);
      const [problem] = problems;
      if (problem !== undefined) throw new Rejection('settings_invalid', problemText(problems));
      const isNeeded = key === undefined || fromFile.includes(key);
      if (!isAgreed && isNeeded) throw new Rejection('settings_not_agreed', NOT_AGREED);
      return settings;
    },
    async fileOf(project, worktree) {
      const found = await read(project, worktree?.base ?? 'HEAD');
      return found === null ? { file: null, items: [] } : { file: found, items: fileItems(found.settings) };
    },
  };
}

const NOT_AGREED = `Nobody has agreed yet to what ${FILE_NAME} of this repository would run. Review it on the project's Rules page.`;

/** Names the first problem with its place, and counts the others. */
function problemText(problems: readonly SettingsProblem[]): string {
  const [first, ...others] = problems;
  if (first === undefined) return '';
  const key = first.key === '' ? '' : `, ${first.key}`;
  const more = others.length === 0 ? '' : ` There ${others.length === 1 ? 'is 1 more' : `are ${others.length} more`}.`;
  return `${FILE_NAME} cannot be used (line ${first.line}${key}): ${first.message}${more} Fix it in the commit that the stage starts from.`;
}
