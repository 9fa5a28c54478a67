import type { BuildFolders, CommandReply, StageId } from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { client } from '../lib/api.ts';
import { deletedWords } from '../lib/removal-words.ts';
import { useCommand } from './use-command.ts';

// Commands on a whole stage, from its card and from its page alike.

/** Starts that are not answered yet. */
const starting = new Map<StageId, Promise<CommandReply<'start_stage'>>>();

/** Asked for twice in one moment (a double click), a stage is started once. */
export function startStage(stageId: StageId): Promise<CommandReply<'start_stage'>> {
  const asked = starting.get(stageId);
  if (asked !== undefined) return asked;
  const answer = client.command('start_stage', { stageId }).finally(() => starting.delete(stageId));
  starting.set(stageId, answer);
  return answer;
}

export const completeStage = (stageId: StageId) => client.command('complete_stage', { stageId });

/** Lets the next phase of its pipeline begin. */
export const advanceStage = (stageId: StageId) => client.command('advance_stage', { stageId });

export const useAdvanceStage = (title: string) =>
  useCommand({ run: advanceStage, failed: `The next phase of ${title} did not begin` });

export const useStartStage = (title: string) => useCommand({ run: startStage, failed: `${title} was not started` });

export const useStopStage = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('stop_stage', { stageId }),
    failed: `${title} was not stopped`,
  });

/** A person has looked at what raised the alarm: the session may go on. */
export const useAcknowledgeAlarm = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('acknowledge_alarm', { stageId }),
    failed: `The alarm of ${title} was not acknowledged`,
  });

/** A person has seen that Claude Code denied the last call: the stage goes to review. */
export const useAcknowledgeDenial = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('acknowledge_denial', { stageId }),
    failed: `The denial in ${title} still waits to be seen`,
  });

/** The stage's own switch of the sandbox, from its next start on; null: as the project says. */
export const useSetSandbox = (title: string) =>
  useCommand({
    run: ({ stageId, sandbox }: { stageId: StageId; sandbox: boolean | null }) =>
      client.command('update_stage', { stageId, patch: { sandbox } }),
    failed: `The sandbox of ${title} was not changed`,
  });

export const useCompleteStage = (title: string) =>
  useCommand({ run: completeStage, failed: `${title} was not completed` });

/** Takes a done stage back to Review. */
export const reopenStage = (stageId: StageId) => client.command('reopen_stage', { stageId });

export const useReopenStage = (title: string) => useCommand({ run: reopenStage, failed: `${title} was not reopened` });

/** What was kept, and what stayed, is told where the stage was. */
export const useDeleteStage = (title: string, done: () => void) =>
  useCommand({
    run: (removal: { stageId: StageId; buildFolders: BuildFolders }) => client.command('remove_stage', removal),
    failed: `${title} was not deleted`,
    done: (reply) => {
      const words = deletedWords(reply);
      const autoClose = reply.left === null ? 8_000 : false;
      if (words !== null)
        notifications.show({ title: `${title} was deleted`, message: words, color: 'gray', autoClose });
      done();
    },
  });

/** Completes it and merges what was seen of its branch; the caller tells of refusals. */
export const useMergeStage = () =>
  useCommand({
    run: (seen: { stageId: StageId; head: string; tree: string }) =>
      client.command('complete_stage', { merge: true, ...seen }),
  });
