import { Challenge, PAGE_HEADER, PageToken, Problem, type ProofBody, proofText } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import type { z } from 'zod';
import { createStore } from 'zustand/vanilla';
import { signWithKey } from './page-key.ts';

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
  const challenge = await fetch(serviceRoutes.loginNonce.path, { cache: 'no-store', signal });
  if (!challenge.ok) return { refusal: challenge };
  const { nonce } = Challenge.parse(await challenge.json());
  // Without a key the server says what is wrong: the key was lost, or there is no login.
  const signature = (await signWithKey(proofText(location.origin, nonce))) ?? '';
  const body = { nonce, signature } satisfies z.input<typeof ProofBody>;
  const reply = await fetch(serviceRoutes.loginProof.path, {
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
    return fetch(path, { ...init, headers });
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
