/** A path as seen from a folder, if it lies in it. */
export function relativePath(path: string, folder: string | null | undefined): string {
  if (folder === null || folder === undefined || folder === '') return path;
  const base = folder.endsWith('/') ? folder : `${folder}/`;
  return path.startsWith(base) ? path.slice(base.length) : path;
}

/** A path or word as one argument of a POSIX shell. */
export const shellQuote = (word: string): string =>
  /^[\w./@:+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** A path in at most so many characters: its beginning and its file's name, what is between them left out. */
export function shortPath(path: string, max: number): string {
  if (path.length <= max) return path;
  const name = path.slice(path.lastIndexOf('/'));
  const room = max - name.length - 1;
  return room > 0 ? `${path.slice(0, room)}…${name}` : `…${path.slice(1 - max)}`;
}
