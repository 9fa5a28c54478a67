import type { Project, ProjectId, Stage, StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Tables } from './store.ts';

export const unknownStage = (id: StageId): Rejection => new Rejection('unknown_stage', `There is no stage ${id}.`);

const unknownProject = (id: ProjectId): Rejection =>
  new Rejection('unknown_project', `There is no project ${id}. Register its repository first.`);

/** Returns the stage. @throws Rejection `unknown_stage` */
export async function requireStage({ stages }: Pick<Tables, 'stages'>, id: StageId): Promise<Stage> {
  const stage = await stages.find(id);
  if (stage === null) throw unknownStage(id);
  return stage;
}

/** Returns the project. @throws Rejection `unknown_project` */
export async function requireProject({ projects }: Pick<Tables, 'projects'>, id: ProjectId): Promise<Project> {
  const project = await projects.find(id);
  if (project === null) throw unknownProject(id);
  return project;
}
