import type { Effort, PermissionMode, StageId } from '@callboard/contract';
import { useCommand } from '../../../data/use-command.ts';
import { client } from '../../../lib/api-client.ts';

// Each is answered once Claude Code has confirmed it.

export const useInterrupt = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('interrupt', { stageId }),
    failed: `${title} was not interrupted`,
  });

export const useSetMode = (stageId: StageId, title: string) =>
  useCommand({
    run: (mode: PermissionMode) => client.command('set_mode', { stageId, mode }),
    failed: `The mode of ${title} was not changed`,
  });

/** A model of null is the default one. */
export const useSetModel = (stageId: StageId, title: string) =>
  useCommand({
    run: (change: { model?: string | null; effort?: Effort }) => client.command('set_model', { stageId, ...change }),
    failed: `The model of ${title} was not changed`,
  });
