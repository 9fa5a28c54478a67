import type { CommentId, MessageId, StageId } from '@callboard/contract';
import type { CommentsTable } from '../../ports/review-tables.ts';
import { CommentRecord } from '../../records.ts';
import type { Database } from '../database.ts';
import { builder, param, prepare } from '../prepared.ts';
import { documentOf, mapRow } from './map-row.ts';

const toComment = documentOf(CommentRecord);

const unanswered = prepare(
  builder
    .selectFrom('comments')
    .select('document')
    .where('stage_id', '=', param('stageId'))
    .where('message_id', 'is not', null)
    .where('answered_at', 'is', null)
    .orderBy('ordinal'),
);

/** See `CommentsTable`. */
export function commentsTable(db: Database): CommentsTable {
  const ofStage = (stageId: StageId) =>
    db.selectFrom('comments').select('document').where('stage_id', '=', stageId).orderBy('ordinal');
  return {
    async listOf(stageId) {
      return (await ofStage(stageId).execute()).map(toComment);
    },
    async find(stageId, commentId) {
      return mapRow(await ofStage(stageId).where('id', '=', commentId).executeTakeFirst(), toComment);
    },
    async listSentWith(stageId: StageId, messageId: MessageId) {
      return (await ofStage(stageId).where('message_id', '=', messageId).execute()).map(toComment);
    },
    async listUnanswered(stageId) {
      return (await unanswered(db, { stageId })).map(toComment);
    },
    async save(comment) {
      const { stageId, messageId, answeredAt } = comment;
      const columns = { message_id: messageId, answered_at: answeredAt, document: JSON.stringify(comment) };
      await db
        .insertInto('comments')
        .values({ stage_id: stageId, id: comment.id, ...columns })
        .onConflict((conflict) => conflict.columns(['stage_id', 'id']).doUpdateSet(columns))
        .execute();
    },
    async remove(stageId: StageId, commentId: CommentId) {
      await db.deleteFrom('comments').where('stage_id', '=', stageId).where('id', '=', commentId).execute();
    },
  };
}
