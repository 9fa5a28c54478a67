import { MergeMethod } from '@callboard/contract';
import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import { UsageError } from '../errors.ts';
import { withApiClient } from './desk-command.ts';
import { findStage } from './find.ts';
import { safeJson } from './text.ts';

const options = {
  stage: z.string().optional(),
  merge: z.enum(MergeMethod.options, { error: `must be one of ${MergeMethod.options.join(', ')}` }).optional(),
  commit: z.string().optional(),
};

/** `callboard complete`. */
export const complete = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, options, async ({ api, options: { stage: text, merge, commit, json }, platform, hint }) => {
    if (text === undefined) throw new UsageError(`name the stage: ${hint('complete STAGE')}`);
    if (commit !== undefined && merge === undefined) throw new UsageError('--commit: needs --merge.');
    const { id } = findStage(await api.command('get_board', {}), text, hint);
    const { stage } = await api.command('complete_stage', {
      stageId: id,
      ...(merge !== undefined && { merge }),
      ...(commit !== undefined && { commit: { message: commit } }),
    });
    const merged =
      stage.merged === null ? 'not merged' : `merged ${stage.merged.commit.slice(0, 7)} into ${stage.merged.into}`;
    platform.out(json ? safeJson(stage) : `${id} is done, ${merged}.`);
  });
