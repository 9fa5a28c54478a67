import { commands, type NewProject, type NewStage, type Project, type StageView } from '@callboard/contract';
import { call } from '../../../lib/api.ts';
import { startStage } from '../../../live/stage-commands.ts';
import { useCommand } from '../../../live/use-command.ts';

/** Refusals of both are shown in their form. */
export const useCreateStage = (done: (stage: StageView) => void) =>
  useCommand({
    run: (stage: NewStage) => call('/api/stages', { method: 'POST', body: stage, reply: commands.create_stage.reply }),
    done: ({ stage }) => done(stage),
  });

export const useAddProject = (done: (project: Project) => void) =>
  useCommand({
    run: (project: NewProject) =>
      call('/api/projects', { method: 'POST', body: project, reply: commands.update_project.reply }),
    done: ({ project }) => done(project),
  });

export const useStartNew = () =>
  useCommand({
    run: (stage: StageView) => startStage(stage.id),
    failed: (stage) => `${stage.title} was created, but not started`,
  });
