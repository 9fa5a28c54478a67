import { Challenge, PAGE_HEADER, PageKey, PageToken, proofText } from '@callboard/contract';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;

/** Logs in with a link as a page does; returns the headers that show it. */
export async function logInAsPage(loginLink: string): Promise<Record<string, string>> {
  const { origin, searchParams } = new URL(loginLink);
  const pair = await crypto.subtle.generateKey(ALGORITHM, false, ['sign', 'verify']);
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', pair.publicKey);
  const post = async (path: string, body: object, cookie = '') => {
    const headers = { origin, cookie, 'content-type': 'application/json' };
    const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} was refused: ${await response.text()}`);
    return response;
  };
  const login = await post('/api/login', { code: searchParams.get('code'), key: PageKey.parse({ kty, crv, x, y }) });
  const cookie = login.headers
    .getSetCookie()
    .map((each) => each.split(';', 1))
    .join('; ');
  const challenge = await fetch(`${origin}/api/login/nonce`, { headers: { cookie } });
  const { nonce } = Challenge.parse(await challenge.json());
  const text = new TextEncoder().encode(proofText(origin, nonce));
  const signature = await crypto.subtle.sign({ ...ALGORITHM, hash: 'SHA-256' }, pair.privateKey, text);
  const proof = await post(
    '/api/login/proof',
    { nonce, signature: Buffer.from(signature).toString('base64url') },
    cookie,
  );
  return { cookie, [PAGE_HEADER]: PageToken.parse(await proof.json()).token };
}
