import { type ZodType, z } from 'zod';

// Settings and unsent forms, kept by this browser.

export function readStored<T>(key: string, schema: ZodType<T>, fallback: T): T {
  try {
    const parsed = schema.safeParse(JSON.parse(localStorage.getItem(key) ?? 'null'));
    return parsed.success ? parsed.data : fallback;
  } catch {
    return fallback;
  }
}

export function writeStored(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The board also works in a browser that stores nothing.
  }
}

export function removeStored(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Nothing was stored.
  }
}

const PREFIX = 'callboard-unsent';
/** What nobody came back to for so long is removed. */
const SAVED_MS = 30 * 24 * 60 * 60_000;

/** What was typed and the server does not have, kept by this browser: a request of a page that is left may never leave the browser. */
export interface UnsentOnDevice<T> {
  /** All of them, by id. */
  all(): Record<string, T>;
  /** Call it in the event that changed the text: what comes later may not be reached. */
  save(id: string, value: T): void;
  /** Forgets this value. Another one, of another tab perhaps, stays. */
  forget(id: string, value: T): void;
}

/** @param kind what it is; one key of the browser's storage for each of its ids */
export function unsentOnDevice<T>(kind: string, value: z.ZodType<T>): UnsentOnDevice<T> {
  const prefix = `${PREFIX}-${kind}:`;
  const Saved = z.object({ at: z.number(), value });
  const read = (id: string) => readStored(prefix + id, Saved.nullable(), null);
  return {
    all() {
      const saved: Record<string, T> = {};
      for (const key of storedKeys()) {
        if (!key.startsWith(prefix)) continue;
        const found = read(key.slice(prefix.length));
        if (found === null || Date.now() - found.at > SAVED_MS) removeStored(key);
        else saved[key.slice(prefix.length)] = found.value;
      }
      return saved;
    },
    save: (id, saved) => writeStored(prefix + id, { at: Date.now(), value: saved }),
    forget(id, sent) {
      const found = read(id);
      if (found !== null && JSON.stringify(found.value) === JSON.stringify(sent)) removeStored(prefix + id);
    },
  };
}

function storedKeys(): string[] {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}
