import { Challenge, PAGE_HEADER, PageKey, PageToken, Problem, type ProofBody, proofText } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import type { z } from 'zod';
import { createStore } from 'zustand/vanilla';
import { withBase } from './base-path.ts';

/** A token, or the response in which the server refuses one. */
type Proof = { token: string } | { refusal: Response };

interface PageLogin {
  /** Kept in memory only: it is valid for the server process that issued it. */
  token: string | null;
  loginId: string | null;
  /** The proof under way, if any. */
  proving: Promise<Proof> | null;
}

/** How this page has proved itself to the server. */
const pageLogin = createStore<PageLogin>(() => ({ token: null, loginId: null, proving: null }));

/** One proof is shared by all requests, so one that was lost on its way must not keep them waiting. */
const PROOF_MS = 5_000;

async function prove(): Promise<Proof> {
  const signal = AbortSignal.timeout(PROOF_MS);
  const challenge = await fetch(withBase(serviceRoutes.loginNonce.path), { cache: 'no-store', signal });
  if (!challenge.ok) return { refusal: challenge };
  const { nonce } = Challenge.parse(await challenge.json());
  // Without a key the server says what is wrong: the key was lost, or there is no login.
  const signature = (await signWithKey(proofText(location.origin, nonce))) ?? '';
  const body = { nonce, signature } satisfies z.input<typeof ProofBody>;
  const reply = await fetch(withBase(serviceRoutes.loginProof.path), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  if (!reply.ok) return { refusal: reply };
  const { token, loginId } = PageToken.parse(await reply.json());
  pageLogin.setState({ token, loginId });
  return { token };
}

/** The id of this browser's login; null until the page has proved itself. */
export const ownLoginId = (): string | null => pageLogin.getState().loginId;

/** Proves the page. Callers at the same time share one proof. */
function proveOnce(): Promise<Proof> {
  const { proving } = pageLogin.getState();
  if (proving !== null) return proving;
  const started = prove().finally(() => pageLogin.setState({ proving: null }));
  pageLogin.setState({ proving: started });
  return started;
}

async function codeOf(response: Response): Promise<string | null> {
  const problem = Problem.safeParse(
    await response
      .clone()
      .json()
      .catch(() => null),
  );
  return problem.success ? problem.data.code : null;
}

/**
 * `fetch` with the proof of this page. A restarted server does not know an older proof: the page then proves itself
 * again and repeats the request once, which is safe because the server did nothing.
 */
export async function pageFetch(path: string, init: RequestInit = {}): Promise<Response> {
  const send = (shown: string): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set(PAGE_HEADER, shown);
    return fetch(withBase(path), { ...init, headers });
  };
  const attempt = async (proof: Proof): Promise<Response> =>
    'refusal' in proof ? proof.refusal.clone() : send(proof.token);

  // With a token, send synchronously: a closing page must get out what it still has to say.
  const { token: used } = pageLogin.getState();
  const first = used === null ? await attempt(await proveOnce()) : await send(used);
  if (used === null || first.status !== 401 || (await codeOf(first)) !== 'page_not_proven') return first;
  // Another request may have renewed the token meanwhile.
  if (pageLogin.getState().token === used) pageLogin.setState({ token: null });
  const { token } = pageLogin.getState();
  return attempt(token === null ? await proveOnce() : { token });
}

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
async function signWithKey(text: string): Promise<string | null> {
  const key = await inStore('readonly', (store) => store.get('login' satisfies Slot)).catch(() => undefined);
  if (!(key instanceof CryptoKey)) return null;
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, new TextEncoder().encode(text));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(signature)));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Deletes the key, after the login has ended. */
export const forgetKey = (): Promise<void> =>
  inStore('readwrite', (store) => store.delete('login' satisfies Slot)).catch(() => undefined);
