/** Small, complete values of the contract: the examples of the API, and events. */
import type { BoardEvent } from '@callboard/contract';
import { stage } from '@callboard/contract/examples';

export * from '@callboard/contract/examples';

const at = '2026-01-02T03:04:05.678Z';

/** A stored event of about `bytes` bytes. */
export const modeChanged = (seq: number, bytes = 0): BoardEvent => ({
  type: 'mode-changed',
  seq,
  at,
  data: { stageId: stage.id, mode: `mode-${seq}`.padEnd(bytes, '.') },
});
