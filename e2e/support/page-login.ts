import { Challenge, PAGE_HEADER, PageToken } from '@callboard/contract';
import { createPageKey } from '../../test-support/page-key.ts';

/** Logs in with a link as a page does; returns the headers that prove the login. */
export async function logInAsPage(loginLink: string): Promise<Record<string, string>> {
  const { origin, searchParams } = new URL(loginLink);
  const { key, signFor } = createPageKey();
  const post = async (path: string, body: object, cookie = '') => {
    const headers = { origin, cookie, 'content-type': 'application/json' };
    const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} was refused: ${await response.text()}`);
    return response;
  };
  const login = await post('/api/login', { code: searchParams.get('code'), key });
  const cookie = login.headers
    .getSetCookie()
    .map((each) => each.split(';', 1))
    .join('; ');
  const challenge = await fetch(`${origin}/api/login/nonce`, { headers: { cookie } });
  const { nonce } = Challenge.parse(await challenge.json());
  const proof = await post('/api/login/proof', { nonce, signature: signFor(origin, nonce) }, cookie);
  return { cookie, [PAGE_HEADER]: PageToken.parse(await proof.json()).token };
}
