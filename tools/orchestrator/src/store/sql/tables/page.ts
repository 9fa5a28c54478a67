/**
 * The size of one page in bytes: a page of long entries must not become a frame too big for the connection, nor keep
 * others waiting while it is built.
 */
const PAGE_BYTES = 1024 * 1024;

/** Returns how many of these rows, from the first on, fit a page; at least one, so that the reader can continue. */
export function rowsThatFit(rows: readonly { bytes: number }[]): number {
  let total = 0;
  const tooMany = rows.findIndex(({ bytes }) => {
    total += bytes;
    return total > PAGE_BYTES;
  });
  return tooMany === -1 ? rows.length : Math.max(1, tooMany);
}
