// Written by scripts/write-kinds.ts from the names of the files that define a kind. Do not edit.
import { PendingRequest } from '../approvals.ts';

/** The data of the event that tells of a new request, by the event's name. */
export const requestEvents = {
  'approval-requested': PendingRequest,
  'question-requested': PendingRequest,
  'plan-requested': PendingRequest,
  'elicitation-requested': PendingRequest,
  'network-requested': PendingRequest,
} as const;
