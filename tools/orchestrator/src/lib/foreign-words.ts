import { visibleText } from '@callboard/contract';

/**
 * Returns what a program or a server said, for an error that people read: its beginning, or with a negative length its end.
 * Characters that would hide or reorder the words around them, or act on a terminal, become codes.
 */
export function untrustedText(text: string, length: number): string {
  const cut = length < 0 ? text.trim().slice(length) : text.slice(0, length);
  return visibleText(cut.toWellFormed().replaceAll('\r\n', '\n'), 'prose').trim();
}
