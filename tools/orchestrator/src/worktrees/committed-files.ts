import type { GitResult } from './git/run-git.ts';
import { headTree } from './repository-tree.ts';

/** A whole id names the same commit forever; git reads it as an id even if a branch is called like this. */
const WHOLE_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const MAX_SAVED = 500;
/** A longer text is read again each time. */
const MAX_SAVED_LENGTH = 64 * 1024;

/**
 * Reads files of commits. What a whole commit id tells is read once: a stage asks for the same file at each step.
 * @param git runs git in a repository; only reads objects
 */
export function createCommittedFiles(
  git: (repository: string, args: readonly string[]) => Promise<GitResult>,
): (repository: string, revision: string, path: string) => Promise<string | null> {
  const saved = new Map<string, Promise<string | null>>();

  async function read(
    repository: string,
    revision: string,
    path: string,
  ): Promise<{ text: string | null; isKnown: boolean }> {
    let isKnown = true;
    const watched = async (args: readonly string[]) => {
      const result = await git(repository, args);
      if (result.failed) isKnown = false; // it does not tell whether there is such a file
      return result;
    };
    const text = await headTree(watched, revision).read(path);
    return { text, isKnown };
  }

  return async (repository, revision, path) => {
    if (revision.startsWith('-')) return null;
    if (!WHOLE_ID.test(revision)) return (await read(repository, revision, path)).text;
    const key = JSON.stringify([repository, revision, path]);
    const before = saved.get(key);
    if (before !== undefined) return before;
    const reading = read(repository, revision, path);
    saved.set(
      key,
      reading.then(({ text }) => text),
    );
    const { text, isKnown } = await reading.catch((error: unknown) => {
      saved.delete(key);
      throw error;
    });
    if (!isKnown || (text?.length ?? 0) > MAX_SAVED_LENGTH) saved.delete(key);
    if (saved.size > MAX_SAVED) saved.delete(saved.keys().next().value ?? '');
    return text;
  };
}
