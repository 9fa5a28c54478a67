import type { StageId } from '@callboard/contract';

/** How long a card may take from one column to the other. */
const TOGETHER_MS = 1_000;

let left: { stageId: StageId; at: number } | null = null;

/** The card goes from its place while its link has the focus: it was dropped, or moves by itself. */
export function leaveFocused(stageId: StageId): void {
  left = { stageId, at: performance.now() };
}

/** Whether the card that appears had the focus where it was just now. */
export function takesFocus(stageId: StageId): boolean {
  if (left?.stageId !== stageId || performance.now() - left.at > TOGETHER_MS) return false;
  left = null;
  return true;
}
