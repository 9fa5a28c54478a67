export type PriorityLabel = 'Urgent' | 'High' | 'Normal' | 'Low';

/** The priorities that a person chooses from; the API knows 0 to 9, and all from 3 on are low. */
export const PRIORITIES: readonly { value: number; word: PriorityLabel }[] = [
  { value: 0, word: 'Urgent' },
  { value: 1, word: 'High' },
  { value: 2, word: 'Normal' },
  { value: 3, word: 'Low' },
];

/** A stage's priority in one word: 0 is urgent, 1 high, 2 normal, 3 and more low. */
export function priorityLabel(priority: number): PriorityLabel {
  return PRIORITIES[Math.min(Math.max(priority, 0), 3)]?.word ?? 'Normal';
}
