import { randomUUID } from 'node:crypto';
import { MessageId, MessageMode, type StageView } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import { UsageError } from '../errors.ts';
import { withApiClient } from './api-client.ts';
import { findStage } from './find.ts';
import { textOrInput } from './terminal-flags.ts';
import { safeJson } from './text.ts';
import { queuedText } from './waiting-text.ts';

const STATUS = { sent: 'Sent.', resumed: 'Sent; the session is resumed with it.' } as const;

const options = {
  stage: z.string().optional(),
  message: z.string().optional(),
  mode: z.enum(MessageMode.options, { error: `must be one of ${MessageMode.options.join(', ')}` }).optional(),
};

/** `callboard say`. */
export const say = (invocation: Invocation): Promise<number> =>
  withApiClient(
    invocation,
    options,
    async ({ api, options: { stage: text, message: given, mode, json }, platform, hint }) => {
      if (text === undefined) throw new UsageError(`name the stage: ${hint('say STAGE MESSAGE')}`);
      const stage = findStage(await api.command('get_board', {}), text, hint);
      const message = await textOrInput(given, platform, `the message is empty: ${hint('say STAGE MESSAGE')}`);
      const reply = await api.command('send_message', {
        stageId: stage.id,
        message,
        messageId: MessageId.parse(randomUUID()),
        ...(mode !== undefined && { mode }),
      });
      if (json) {
        platform.out(safeJson(reply));
        return;
      }
      platform.out(reply.status === 'queued' ? await whenDelivered(api, stage) : STATUS[reply.status]);
      if (reply.reopened === true) platform.out(`${stage.id} was done and is open again.`);
      if (reply.replaced !== undefined && reply.replaced.length > 0)
        platform.out(`Replaced ${reply.replaced.length} queued messages; they are kept as drafts.`);
    },
  );

/** The message itself may have changed what the stage waits for, so the board is read again. */
async function whenDelivered(api: Transport, sentTo: StageView): Promise<string> {
  const board = await api.command('get_board', {});
  return queuedText(board.stages.find(({ id }) => id === sentTo.id) ?? sentTo, board);
}
