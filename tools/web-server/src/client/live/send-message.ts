import type { MessageBody, SendMessageReply, StageId } from '@callboard/contract';
import { client } from '../lib/api.ts';
import { untilDelivered } from '../lib/until-delivered.ts';

/** Sends a message to a stage's session, as often as its reply is lost: the id that it bears makes that harmless. */
export const sendMessage = (
  stageId: StageId,
  body: MessageBody & Required<Pick<MessageBody, 'messageId'>>,
): Promise<SendMessageReply> =>
  untilDelivered((_attempt, signal) => client.command('send_message', { stageId, ...body }, { signal }));
