import { Decision, DelayedAnswer, LaunchId, PendingRequest, withAnswerDelayed } from '@callboard/contract';
import type { Selectable } from 'kysely';
import { DelayedAnswerRow, type StoredRequest } from '../../ports/requests-table.ts';
import type { Schema } from '../schema.ts';
import { documentOf } from './map-row.ts';

export const toDecision = (text: string): Decision => Decision.parse(JSON.parse(text));

export function toStored(row: Selectable<Schema['requests']>): StoredRequest {
  const request = documentOf(PendingRequest)(row);
  const hold = row.held === null ? null : DelayedAnswerRow.parse(JSON.parse(row.held));
  return {
    request: hold === null ? request : withAnswerDelayed(request, DelayedAnswer.parse(hold)),
    launchId: LaunchId.parse(row.launch_id),
    decision: row.decision === null ? null : toDecision(row.decision),
    hold,
  };
}
