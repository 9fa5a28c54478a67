import type { Decision, PendingRequest } from '@callboard/contract';

// How requests ended that were open a moment ago, for whoever had one before their eyes.

export type Ending = { kind: 'decided'; decision: Decision } | { kind: 'withdrawn'; reason: string };
type Place = Pick<PendingRequest, 'stageId' | 'requestId'>;

/** Where the ending of a request stands in the query cache, for a while. */
export const endingKey = ({ stageId, requestId }: Place) => ['ending', stageId, requestId] as const;
