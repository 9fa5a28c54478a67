import type { Attachment, Stage } from '@callboard/contract';
import { type MessageRow, messageBody } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { firstPrompt } from './pipeline.ts';

/**
 * Returns the first message of a stage: its prompt with its files. It attaches no files that `@path` names; it runs as a
 * command only if a person chose that here (docs/decisions/trust.md).
 */
export async function firstMessage(tx: Tx, stage: Stage): Promise<MessageRow['body']> {
  const found: (Attachment | null)[] = [];
  for (const { fileId } of stage.attachments) found.push(await tx.attachments.find(stage.id, fileId));
  return messageBody({
    text: firstPrompt(stage),
    attachments: found.filter((file) => file !== null),
    isCommand: stage.promptIsCommand && stage.source === null,
    attachesFiles: false,
  });
}
