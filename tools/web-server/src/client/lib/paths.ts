/** A path relative to a folder, if it is inside. */
export function relativePath(path: string, folder: string | null | undefined): string {
  if (folder === null || folder === undefined || folder === '') return path;
  const base = folder.endsWith('/') ? folder : `${folder}/`;
  return path.startsWith(base) ? path.slice(base.length) : path;
}

/** Shortens a path to at most `max` characters: its beginning and its file name stay. */
export function shortPath(path: string, max: number): string {
  if (path.length <= max) return path;
  const name = path.slice(path.lastIndexOf('/'));
  const room = max - name.length - 1;
  return room > 0 ? `${path.slice(0, room)}…${name}` : `…${path.slice(1 - max)}`;
}
