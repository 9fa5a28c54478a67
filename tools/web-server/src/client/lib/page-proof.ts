import { Challenge, PAGE_HEADER, PageToken, Problem, type ProofBody, proofText } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import type { z } from 'zod';
import { signWithKey } from './page-key.ts';

/** A token, or why the server gives none. */
type Proof = { token: string } | { refusal: Response };

/** The token is kept in memory alone: it is good for the server process that gave it. */
let token: string | null = null;
let loginId: string | null = null;
let proving: Promise<Proof> | null = null;

async function prove(): Promise<Proof> {
  const challenge = await fetch(serviceRoutes.loginNonce.path);
  if (!challenge.ok) return { refusal: challenge };
  const { nonce } = Challenge.parse(await challenge.json());
  // Without a key it is the server that says why: the key was lost, or there is no login.
  const signature = (await signWithKey(proofText(location.origin, nonce))) ?? '';
  const body = { nonce, signature } satisfies z.input<typeof ProofBody>;
  const reply = await fetch(serviceRoutes.loginProof.path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!reply.ok) return { refusal: reply };
  ({ token, loginId } = PageToken.parse(await reply.json()));
  return { token };
}

/** The login of this browser, once the page has proved itself. */
export const ownLoginId = (): string | null => loginId;

/** Those who need it at the same time wait for the same proof. */
function proveOnce(): Promise<Proof> {
  proving ??= prove().finally(() => {
    proving = null;
  });
  return proving;
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
 * `fetch` for a page of ours: proves the page where that is due. After a restart the server does not know the proof of
 * before; then the page proves itself anew and the request, of which nothing was done, is made again, once.
 */
export async function pageFetch(path: string, init: RequestInit = {}): Promise<Response> {
  const send = (shown: string): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set(PAGE_HEADER, shown);
    return fetch(path, { ...init, headers });
  };
  const attempt = async (proof: Proof): Promise<Response> =>
    'refusal' in proof ? proof.refusal.clone() : send(proof.token);

  // At once where there is a token: a page that is being left sends what it still has to say.
  const used = token;
  const first = used === null ? await attempt(await proveOnce()) : await send(used);
  if (used === null || first.status !== 401 || (await codeOf(first)) !== 'page_not_proven') return first;
  // Another request may have got a new one meanwhile.
  if (token === used) token = null;
  return attempt(token === null ? await proveOnce() : { token });
}
