import { type PendingRequest, visibleText } from '@callboard/contract';
import { field } from './tool-words.ts';

// What requests of several kinds are described with. The words of each kind are in `features/interaction/kinds/`.

/** How much of a path the name of a form shows. */
export const PATH_SHOWN = 60;

/** Whether the name of a form shows a path only in part. */
export const isPathCut = (path: string): boolean => path.length > PATH_SHOWN;

/** The host that a command wants to reach, with escapes visible. */
export const hostText = ({ input }: Pick<PendingRequest, 'input'>): string =>
  visibleText(field(input, 'host'), 'command') || 'a host that Claude Code does not name';

export const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';

/** Turns a few words into a sentence: a capital first, a full stop last. */
export function asSentence(message: string): string {
  const text = message.trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…:]$/.test(text) ? '' : '.'}`;
}

/** One key for a request among all stages. */
export const requestKey = ({ stageId, requestId }: Pick<PendingRequest, 'stageId' | 'requestId'>): string =>
  `${stageId}/${requestId}`;
