import { commands, type Effort, type PermissionMode, type StageId } from '@callboard/contract';
import { call } from '../../../lib/api.ts';
import { useCommand } from '../../../live/use-command.ts';

// Each is answered once Claude Code has confirmed it.

export const useInterrupt = (title: string) =>
  useCommand({
    run: (stageId: StageId) =>
      call(`/api/sessions/${stageId}/interrupt`, { method: 'POST', reply: commands.interrupt.reply }),
    failed: `${title} was not interrupted`,
  });

export const useSetMode = (stageId: StageId, title: string) =>
  useCommand({
    run: (mode: PermissionMode) =>
      call(`/api/sessions/${stageId}/mode`, { method: 'POST', body: { mode }, reply: commands.set_mode.reply }),
    failed: `The mode of ${title} was not changed`,
  });

/** A model of null is the default one. */
export const useSetModel = (stageId: StageId, title: string) =>
  useCommand({
    run: (body: { model?: string | null; effort?: Effort }) =>
      call(`/api/sessions/${stageId}/model`, { method: 'POST', body, reply: commands.set_model.reply }),
    failed: `The model of ${title} was not changed`,
  });
