import type { Numbers, Project, ProjectId, StageId } from '@callboard/contract';

/** The names of stages and projects. One that is unknown has its id. */
export interface Names {
  titleOf(stageId: StageId): string;
  /** The project's name; empty if unknown. */
  projectOf(stageId: StageId): string;
  projectName(projectId: ProjectId): string;
}

/** Looks names up: those of stages in the numbers, which have deleted ones too. */
export function namesOf(stages: Numbers['stages'], projects: readonly Pick<Project, 'id' | 'name'>[]): Names {
  const byId = new Map(stages.map((stage) => [stage.stageId, stage]));
  const names = new Map(projects.map(({ id, name }) => [id, name]));
  const projectName = (id: ProjectId) => names.get(id) ?? id;
  return {
    titleOf(stageId) {
      const stage = byId.get(stageId);
      return `${stage?.title ?? stageId}${stage?.isDeleted === true ? ' (deleted)' : ''}`;
    },
    projectOf(stageId) {
      const projectId = byId.get(stageId)?.projectId ?? null;
      return projectId === null ? '' : projectName(projectId);
    },
    projectName,
  };
}
