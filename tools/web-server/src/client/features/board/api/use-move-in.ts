import type { AdoptBody, ProjectId, StageId } from '@callboard/contract';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** Makes a stage of a conversation. */
export const useAdoptConversation = (projectId: ProjectId, done: (stageId: StageId) => void) =>
  useCommand({
    run: (order: AdoptBody) => client.command('adopt_conversation', { projectId, ...order }),
    done: ({ stage }) => done(stage.id),
  });
