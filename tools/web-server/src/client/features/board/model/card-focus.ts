/** The visible cards, column by column, each from the top. */
export type CardColumns<T> = readonly (readonly T[])[];

/**
 * The card a key moves to: up and down within the column, left and right to the next column with cards (to the same row
 * or the last one), Home and End to the ends of the column. Null for any other key, and at the edges.
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
    case 'ArrowUp':
      return column[row - 1] ?? null;
    case 'ArrowDown':
      return column[row + 1] ?? null;
    case 'ArrowLeft':
      return beside(-1);
    case 'ArrowRight':
      return beside(1);
    case 'Home':
      return column[0] ?? null;
    case 'End':
      return column.at(-1) ?? null;
    default:
      return null;
  }
}
