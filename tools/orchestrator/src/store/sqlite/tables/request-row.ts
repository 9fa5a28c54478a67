import { Decision, LaunchId, PendingRequest } from '@callboard/contract';
import type { Selectable } from 'kysely';
import type { StoredRequest } from '../../ports/requests-table.ts';
import type { Schema } from '../schema.ts';
import { documentOf } from './map-row.ts';

export const toDecision = (text: string): Decision => Decision.parse(JSON.parse(text));

export const toStored = (row: Selectable<Schema['requests']>): StoredRequest => ({
  request: documentOf(PendingRequest)(row),
  launchId: LaunchId.parse(row.launch_id),
  decision: row.decision === null ? null : toDecision(row.decision),
});
