/** So many letters at the end stay, of a text that is no path. */
const TAIL = 12;

/** Where a text that has no room is cut: before a path's last name, else before its last letters; 0 if it is too short to be cut. */
export function middleOf(text: string): number {
  const slash = text.lastIndexOf('/', text.length - 2);
  if (slash > 0) return slash;
  return text.length <= 2 * TAIL ? 0 : text.length - TAIL;
}
