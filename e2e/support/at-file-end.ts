import type { AtEnd } from '../../test-support/temporary-folder.ts';

const ends: (() => void | Promise<void>)[] = [];

/** Registers a task for the end of all tests of the file; the last registered runs first. */
export const atFileEnd: AtEnd = (end) => void ends.unshift(end);

/** Runs all registered tasks, even if some fail, and throws the first error. */
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
