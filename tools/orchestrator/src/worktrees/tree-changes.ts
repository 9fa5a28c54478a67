import type { FileDiff } from '@callboard/contract';
import type { ObjectsOnlyGit } from './git/objects-only-git.ts';

/** A file that differs between two trees, with the ids of its contents; null if it does not exist there. */
export interface TreeChange extends Omit<FileDiff, 'version' | 'isGenerated'> {
  oldId: string | null;
  newId: string | null;
}

/** Returns the name of a content in the version of a file; empty if there is none. */
export const versionOf = (id: string | null): string => id?.slice(0, 16) ?? '';

/** Names are quoted, so that every byte arrives; renames are detected by our own rules, and submodules are never ignored. */
const DIFF_TREE = [
  ...['-c', 'core.quotePath=true', 'diff-tree', '-r', '--raw', '--numstat', '--no-abbrev'],
  ...['--find-renames=50%', '-l1000', '--no-ext-diff', '--no-textconv', '--ignore-submodules=none'],
];

const RAW = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*\t([^\t]+)(?:\t([^\t]+))?$/;
const COUNTS = /^(\d+|-)\t(\d+|-)\t/;

const STATUS: Readonly<Record<string, FileDiff['status']>> = { A: 'added', D: 'deleted', R: 'renamed' };

/** Returns the files that differ between two trees, with line counts; null if git does not know one of the trees. */
export async function treeChanges(plain: ObjectsOnlyGit, base: string, tree: string): Promise<TreeChange[] | null> {
  const { failed, stdout } = await plain.try([...DIFF_TREE, `${base}^{tree}`, tree]);
  if (failed) return null;
  const lines = stdout.split('\n').filter((line) => line !== '');
  const named = lines.filter((line) => line.startsWith(':')).map(parseRaw);
  const counted = lines.filter((line) => !line.startsWith(':')).map(parseCounts);
  if (named.length !== counted.length) throw new Error('git diff-tree lists and counts different files');
  return named.map((change, index) => ({ ...change, ...(counted[index] ?? NO_COUNTS) }));
}

const NO_COUNTS = { additions: 0, deletions: 0, isBinary: false };

function parseRaw(line: string): Omit<TreeChange, keyof typeof NO_COUNTS> {
  const [, oldMode, newMode, oldId, newId, letter = '', first = '', second] = RAW.exec(line) ?? [];
  if (first === '') throw new Error(`unexpected line of git diff-tree --raw: ${line}`);
  return {
    path: nameOf(second ?? first),
    oldPath: second === undefined ? null : nameOf(first),
    status: STATUS[letter] ?? 'modified',
    oldMode: orNull(oldMode),
    newMode: orNull(newMode),
    oldId: orNull(oldId),
    newId: orNull(newId),
  };
}

const orNull = (value = ''): string | null => (/^0*$/.test(value) ? null : value);

function parseCounts(line: string): typeof NO_COUNTS {
  const [, additions, deletions] = COUNTS.exec(line) ?? [];
  if (additions === undefined) throw new Error(`unexpected line of git diff-tree --numstat: ${line}`);
  if (additions === '-') return { ...NO_COUNTS, isBinary: true };
  return { additions: Number(additions), deletions: Number(deletions), isBinary: false };
}

const LETTERS: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 };

/** Decodes a name that git printed; it stays quoted if it is not UTF-8 or looks like a quoted name. */
function nameOf(printed: string): string {
  if (!printed.startsWith('"')) return printed;
  const bytes = [...printed.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\])/gu)].flatMap(
    ([, octal, letter, plain]) => {
      if (octal !== undefined) return Number.parseInt(octal, 8);
      if (letter !== undefined) return LETTERS[letter] ?? 0;
      return [...Buffer.from(plain ?? '')];
    },
  );
  try {
    const name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
    return name.startsWith('"') ? printed : name;
  } catch {
    return printed;
  }
}
