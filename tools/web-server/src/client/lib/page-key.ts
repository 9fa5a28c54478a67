import { PageKey } from '@callboard/contract';

/**
 * The key of this browser's login. Its private half cannot leave the browser, and no page of another origin (such as
 * another port) can use it, while the cookie is sent to every port.
 */

const DATABASE = 'callboard';
const STORE = 'login';
/** `login` is the key of the current login, `next` that of a login under way. */
type Slot = 'login' | 'next';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;

const settled = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('IndexedDB failed'));
  });

async function inStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => void opening.result.createObjectStore(STORE);
  const database = await settled(opening);
  try {
    const transaction = database.transaction(STORE, mode);
    const result = await settled(work(transaction.objectStore(STORE)));
    transaction.commit();
    return result;
  } finally {
    database.close();
  }
}

/** Creates and stores a key for a new login. The current key stays in use until `takeNewKey`. */
export async function makeKey(): Promise<PageKey> {
  // Always a new key: a program that used this port for a while may have stored the old one.
  const pair = await crypto.subtle.generateKey(ALGORITHM, false, ['sign', 'verify']);
  await inStore('readwrite', (store) => store.put(pair.privateKey, 'next' satisfies Slot));
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', pair.publicKey);
  return PageKey.parse({ kty, crv, x, y });
}

/** Makes the key from `makeKey` the current one. Call it once the login succeeded. */
export async function takeNewKey(): Promise<void> {
  const key: unknown = await inStore('readonly', (store) => store.get('next' satisfies Slot));
  if (!(key instanceof CryptoKey)) return;
  await inStore('readwrite', (store) => store.put(key, 'login' satisfies Slot));
  await inStore('readwrite', (store) => store.delete('next' satisfies Slot));
}

/** Signs a text (base64url); null if this browser has no key. */
export async function signWithKey(text: string): Promise<string | null> {
  const key = await inStore('readonly', (store) => store.get('login' satisfies Slot)).catch(() => undefined);
  if (!(key instanceof CryptoKey)) return null;
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, new TextEncoder().encode(text));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(signature)));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Deletes the key, after the login has ended. */
export const forgetKey = (): Promise<void> =>
  inStore('readwrite', (store) => store.delete('login' satisfies Slot)).catch(() => undefined);
