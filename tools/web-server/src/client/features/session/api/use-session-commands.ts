import { commands, type PermissionMode, type StageId } from '@callboard/contract';
import { call } from '../../../lib/api.ts';
import { useCommand } from '../../../live/use-command.ts';

export const useInterrupt = (title: string) =>
  useCommand({
    run: (stageId: StageId) =>
      call(`/api/sessions/${stageId}/interrupt`, { method: 'POST', reply: commands.interrupt.reply }),
    failed: `${title} was not interrupted`,
  });

export const useSetMode = (title: string) =>
  useCommand({
    run: ({ stageId, mode }: { stageId: StageId; mode: PermissionMode }) =>
      call(`/api/sessions/${stageId}/mode`, { method: 'POST', body: { mode }, reply: commands.set_mode.reply }),
    failed: `The mode of ${title} was not changed`,
  });
