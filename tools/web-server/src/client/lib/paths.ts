/** A path as seen from a folder, if it lies in it. */
export function relativePath(path: string, folder: string | null | undefined): string {
  if (folder === null || folder === undefined || folder === '') return path;
  const base = folder.endsWith('/') ? folder : `${folder}/`;
  return path.startsWith(base) ? path.slice(base.length) : path;
}

/** A path or word as one argument of a POSIX shell. */
export const shellQuote = (word: string): string =>
  /^[\w./@:+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
