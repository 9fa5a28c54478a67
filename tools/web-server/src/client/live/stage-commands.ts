import { type BuildFolders, commands, type StageId } from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { call } from '../lib/api.ts';
import { deletedWords } from '../lib/removal-words.ts';
import { useCommand } from './use-command.ts';

// Commands on a whole stage, from its card and from its page alike.

const post = (stageId: StageId, verb: 'start' | 'stop' | 'complete' | 'advance' | 'reopen') =>
  call(`/api/stages/${stageId}/${verb}`, { method: 'POST', reply: commands.get_stage.reply });

/** Starts that are not answered yet. */
const starting = new Map<StageId, ReturnType<typeof post>>();

/** Asked for twice in one moment (a double click), a stage is started once. */
export function startStage(stageId: StageId): ReturnType<typeof post> {
  const asked = starting.get(stageId);
  if (asked !== undefined) return asked;
  const answer = post(stageId, 'start').finally(() => starting.delete(stageId));
  starting.set(stageId, answer);
  return answer;
}

export const completeStage = (stageId: StageId) => post(stageId, 'complete');

/** Lets the next phase of its pipeline begin. */
export const advanceStage = (stageId: StageId) => post(stageId, 'advance');

export const useAdvanceStage = (title: string) =>
  useCommand({ run: advanceStage, failed: `The next phase of ${title} did not begin` });

export const useStartStage = (title: string) => useCommand({ run: startStage, failed: `${title} was not started` });

export const useStopStage = (title: string) =>
  useCommand({ run: (stageId: StageId) => post(stageId, 'stop'), failed: `${title} was not stopped` });

/** A person has looked at what raised the alarm: the session may go on. */
export const useAcknowledgeAlarm = (title: string) =>
  useCommand({
    run: (stageId: StageId) =>
      call(`/api/sessions/${stageId}/alarm/acknowledge`, { method: 'POST', reply: commands.acknowledge_alarm.reply }),
    failed: `The alarm of ${title} was not acknowledged`,
  });

/** A person has seen that Claude Code denied the last call: the stage goes to review. */
export const useAcknowledgeDenial = (title: string) =>
  useCommand({
    run: (stageId: StageId) =>
      call(`/api/sessions/${stageId}/denial/acknowledge`, { method: 'POST', reply: commands.acknowledge_denial.reply }),
    failed: `The denial in ${title} still waits to be seen`,
  });

/** The stage's own switch of the sandbox, from its next start on; null: as the project says. */
export const useSetSandbox = (title: string) =>
  useCommand({
    run: ({ stageId, sandbox }: { stageId: StageId; sandbox: boolean | null }) =>
      call(`/api/stages/${stageId}`, { method: 'PATCH', body: { sandbox }, reply: commands.update_stage.reply }),
    failed: `The sandbox of ${title} was not changed`,
  });

export const useCompleteStage = (title: string) =>
  useCommand({ run: completeStage, failed: `${title} was not completed` });

/** Takes a done stage back to Review. */
export const reopenStage = (stageId: StageId) => post(stageId, 'reopen');

export const useReopenStage = (title: string) => useCommand({ run: reopenStage, failed: `${title} was not reopened` });

/** What was kept, and what stayed, is told where the stage was. */
export const useDeleteStage = (title: string, done: () => void) =>
  useCommand({
    run: ({ stageId, buildFolders }: { stageId: StageId; buildFolders: BuildFolders }) =>
      call(`/api/stages/${stageId}`, {
        method: 'DELETE',
        body: { buildFolders },
        reply: commands.remove_stage.reply,
      }),
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
    run: ({ stageId, ...seen }: { stageId: StageId; head: string; tree: string }) =>
      call(`/api/stages/${stageId}/complete`, {
        method: 'POST',
        body: { merge: true, ...seen },
        reply: commands.complete_stage.reply,
      }),
  });
