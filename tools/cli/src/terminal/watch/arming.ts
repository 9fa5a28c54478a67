/** How long a request must have been drawn, with no key pressed, before a key decides it. */
const CHECK_INTERVAL_MS = 500;

/**
 * Whether a key may decide the request on the screen. Nothing is decided by a key that was pressed before the request had been drawn whole
 * for half a second, that is a part of what was pasted, or while something else was printed below it.
 */
export interface Arming {
  /** The request was drawn whole, at the end of the screen. */
  drawn(): void;
  /** Something was printed below it, or it is no longer open. */
  covered(): void;
  isShown(): boolean;
  /** A key was pressed. Returns whether it may decide; one that came too early begins the half second again. */
  press(isAlone: boolean): boolean;
}

/** @param now milliseconds on a monotonic clock */
export function createArming(now: () => number): Arming {
  let since: number | null = null;
  return {
    drawn: () => {
      since = now();
    },
    covered: () => {
      since = null;
    },
    isShown: () => since !== null,
    press: (isAlone) => {
      if (since === null) return false;
      if (isAlone && now() - since >= CHECK_INTERVAL_MS) return true;
      since = now();
      return false;
    },
  };
}
