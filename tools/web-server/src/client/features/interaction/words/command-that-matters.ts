import type { PendingRequest } from '@callboard/contract';
import { field } from '../../../lib/tool-words.ts';

const MAX_LINE_LENGTH = 100;

/**
 * The one line of a command that a person has to see: the whole command if it is short, else the part with the most at risk, or else its
 * first line that is no comment. An ellipsis stands where something is left out.
 */
export function commandThatMatters({ input, stakes }: Pick<PendingRequest, 'input' | 'stakes'>): string {
  const command = field(input, 'command').trim();
  if (!command.includes('\n') && command.length <= MAX_LINE_LENGTH) return command;
  const lines = command.split('\n').map((line) => line.trim());
  const first = lines.find((line) => line !== '' && !line.startsWith('#')) ?? lines[0] ?? '';
  const line = (stakes[0]?.command ?? first).replace(/…$/, '');
  const at = command.indexOf(line);
  return `${at > 0 ? '… ' : ''}${line}${at + line.length < command.length ? ' …' : ''}`;
}
