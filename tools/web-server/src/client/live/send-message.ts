import { commands, type MessageBody, type SendMessageReply, type StageId } from '@callboard/contract';
import { call } from '../lib/api.ts';
import { untilDelivered } from '../lib/until-delivered.ts';

/** Sends a message to a stage's session, as often as its reply is lost: the id that it bears makes that harmless. */
export const sendMessage = (
  stageId: StageId,
  body: MessageBody & Required<Pick<MessageBody, 'messageId'>>,
): Promise<SendMessageReply> =>
  untilDelivered((_attempt, signal) =>
    call(`/api/sessions/${stageId}/message`, { method: 'POST', body, signal, reply: commands.send_message.reply }),
  );
