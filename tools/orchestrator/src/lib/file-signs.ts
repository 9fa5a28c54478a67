import { statSync } from 'node:fs';
import { messageOf } from '@callboard/runtime/errors';

/**
 * How files are now, links followed: the same as long as nobody has written to one, made it, removed it or put another in its
 * place. The time of the last change cannot be set back by whoever owns the file. Synchronous, as it is asked again and again: the kernel answers
 * in a tenth of what asking a thread costs.
 */
export function signOf(paths: readonly string[]): string {
  return paths.map(signOfOne).join('\n');
}

function signOfOne(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined
      ? '-'
      : [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs, found.mode].join();
  } catch (error) {
    return messageOf(error); // a part of the path is no folder, say
  }
}
