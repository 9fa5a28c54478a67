import type { AtEnd } from '../../test-support/temporary-folder.ts';

const ends: (() => void | Promise<void>)[] = [];

/** Has a thing done when all tests of the file are over; the last one first. */
export const atFileEnd: AtEnd = (end) => void ends.unshift(end);

/** Does all that is to be done, whatever of it fails, and throws what failed first. */
export async function endFile(): Promise<void> {
  const failed: unknown[] = [];
  for (const end of ends.splice(0)) {
    try {
      await end();
    } catch (error) {
      failed.push(error);
    }
  }
  if (failed.length > 0) throw failed[0];
}
