import { randomUUID } from 'node:crypto';
import { MessageId, MessageMode, type StageView } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import { UsageError } from '../errors.ts';
import { atDesk } from './desk-command.ts';
import { findStage } from './find.ts';
import { textOrInput } from './flags.ts';
import { safeJson } from './text.ts';
import { queuedWords } from './waiting-words.ts';

const STATUS = { sent: 'Sent.', resumed: 'Sent; the session is resumed with it.' } as const;

const options = {
  stage: z.string().optional(),
  message: z.string().optional(),
  mode: z.enum(MessageMode.options, { error: `must be one of ${MessageMode.options.join(', ')}` }).optional(),
};

/** `callboard say`. */
export const say = (invocation: Invocation): Promise<number> =>
  atDesk(invocation, options, async ({ desk, options: { stage: text, message: given, mode, json }, edges, hint }) => {
    if (text === undefined) throw new UsageError(`name the stage: ${hint('say STAGE MESSAGE')}`);
    const stage = findStage(await desk.command('get_board', {}), text, hint);
    const message = await textOrInput(given, edges, `the message is empty: ${hint('say STAGE MESSAGE')}`);
    const reply = await desk.command('send_message', {
      stageId: stage.id,
      message,
      messageId: MessageId.parse(randomUUID()),
      ...(mode !== undefined && { mode }),
    });
    if (json) {
      edges.out(safeJson(reply));
      return;
    }
    edges.out(reply.status === 'queued' ? await whenDelivered(desk, stage) : STATUS[reply.status]);
    if (reply.reopened === true) edges.out(`${stage.id} was done and is open again.`);
    if (reply.replaced !== undefined && reply.replaced.length > 0)
      edges.out(`Replaced ${reply.replaced.length} queued messages; they are kept as drafts.`);
  });

/** The message itself may have changed what the stage waits for, so the board is read again. */
async function whenDelivered(desk: Transport, sentTo: StageView): Promise<string> {
  const board = await desk.command('get_board', {});
  return queuedWords(board.stages.find(({ id }) => id === sentTo.id) ?? sentTo, board);
}
