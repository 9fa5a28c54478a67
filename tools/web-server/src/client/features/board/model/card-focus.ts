/** The reachable rows, column by column, each from the top. */
export type CardColumns<T> = readonly (readonly T[])[];

/** The keys that move from row to row; J and K are the letters of the arrow keys. */
export const MOVES: ReadonlySet<string> = new Set([
  ...['j', 'k', 'arrowup', 'arrowdown', 'arrowleft', 'arrowright', 'home', 'end'],
]);

/**
 * The row a key moves to: up and down within the column, left and right to the next column with rows (to the same place
 * or the last one), Home and End to the ends of the column. Null for any other key, and at the edges.
 *
 * @param key in small letters
 */
export function cardAt<T>(columns: CardColumns<T>, current: T, key: string): T | null {
  const place = columns.findIndex((column) => column.includes(current));
  const column = columns[place];
  if (column === undefined) return null;
  const row = column.indexOf(current);
  const beside = (step: 1 | -1) => {
    const others = step === 1 ? columns.slice(place + 1) : columns.slice(0, place).toReversed();
    const next = others.find((other) => other.length > 0) ?? [];
    return next[Math.min(row, next.length - 1)] ?? null;
  };
  switch (key) {
    case 'k':
    case 'arrowup':
      return column[row - 1] ?? null;
    case 'j':
    case 'arrowdown':
      return column[row + 1] ?? null;
    case 'arrowleft':
      return beside(-1);
    case 'arrowright':
      return beside(1);
    case 'home':
      return column[0] ?? null;
    case 'end':
      return column.at(-1) ?? null;
    default:
      return null;
  }
}
