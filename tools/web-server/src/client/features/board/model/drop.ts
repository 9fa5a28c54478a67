import { type Column, checkAtGate, type StageView } from '@callboard/contract';

/** The effect of dropping a card on a column. */
export type Drop =
  | { kind: 'command'; verb: 'start' | 'advance' | 'complete' | 'reopen'; text: string }
  | { kind: 'refused'; text: string }
  /** The card goes back to its place. */
  | { kind: 'nothing' };

const REFUSED: Record<Exclude<Column, 'running' | 'done'>, string> = {
  backlog: 'A stage is in the backlog while it is on hold or waits for another one. Edit it to put it on hold.',
  ready: 'A stage becomes ready once it is not on hold and its dependencies are done.',
  'needs-you': 'A stage moves here when Claude needs you.',
  review: 'A stage moves here when Claude has finished.',
};

/** A stage's column is derived from its state, so a drop is a command, or is refused with a reason. */
export function dropOn(stage: StageView, column: Column): Drop {
  if (stage.column === column) return { kind: 'nothing' };
  if (column === 'done') return { kind: 'command', verb: 'complete', text: 'Drop to complete it' };
  if (column === 'review' && stage.completedAt !== null)
    return { kind: 'command', verb: 'reopen', text: 'Drop to reopen it' };
  if (column !== 'running') return { kind: 'refused', text: REFUSED[column] };
  if (stage.completedAt !== null) return { kind: 'refused', text: 'It is done. Reopen it, or send it a message.' };
  if (stage.session === null) return { kind: 'command', verb: 'start', text: 'Drop to start it' };
  if (checkAtGate(stage) !== null)
    return {
      kind: 'refused',
      text: 'Its check did not pass. Choose what follows on its page, or send Claude a message.',
    };
  if (stage.session.atGate) return { kind: 'command', verb: 'advance', text: 'Drop to start its next phase' };
  return {
    kind: 'refused',
    text: 'It was started before. Answer its request, choose Continue in its menu, or send it a message.',
  };
}
