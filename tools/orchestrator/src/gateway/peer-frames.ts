import { SessionNowFrame, StageId, TextDeltaFrame } from '@callboard/contract';
import { z } from 'zod';

/** Where one orchestrator asks another one for live text. */
export const PEER_PATH = '/machine';

/** What it wants: the stages that somebody watches, all of them with each change. */
export const PeerRequest = z.object({ watch: z.array(StageId).max(10_000) });

/** What it gets: text of those stages, and what their sessions do this moment. */
export const PeerFrame = z.discriminatedUnion('type', [TextDeltaFrame, SessionNowFrame]);
export type PeerFrame = z.infer<typeof PeerFrame>;
