import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import { UsageError } from '../errors.ts';
import { withApiClient } from './desk-command.ts';
import { findStage } from './find.ts';
import { safeJson, visibleLine } from './text.ts';

/** `callboard advance`. */
export const advance = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, { stage: z.string().optional() }, async ({ api, options: given, platform, hint }) => {
    if (given.stage === undefined) throw new UsageError(`name the stage: ${hint('advance STAGE')}`);
    const { id } = findStage(await api.command('get_board', {}), given.stage, hint);
    const { stage } = await api.command('advance_stage', { stageId: id });
    const phase = stage.pipeline[stage.session?.phaseIndex ?? 0]?.name ?? 'the next phase';
    platform.out(given.json ? safeJson(stage) : `Started ${visibleLine(phase, 'prose')} of ${id}.`);
  });
