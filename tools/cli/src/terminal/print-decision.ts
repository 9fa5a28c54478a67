import type { Decision } from '@callboard/contract';
import { visibleLine } from './text.ts';

const DONE: Readonly<Record<Decision['outcome'], string>> = {
  allowed: 'Allowed',
  denied: 'Denied',
  answered: 'Answered',
  'timed-out': 'Timed out',
  closed: 'Closed',
};

/** Says what a decision did, and how far it got: "Allowed: Bash npm install". */
export function decidedText({ outcome, asked, delivery, toolName }: Decision): string {
  const what = `${DONE[outcome]}: ${visibleLine(asked || toolName, 'command')}`;
  if (delivery === 'confirmed' || delivery === 'none') return what;
  if (delivery === 'unknown') return `${what}. It is not known whether Claude received it: look at the board`;
  return `${what} (stored; Claude has not confirmed it yet)`;
}
