import { createHash } from 'node:crypto';

/** The API token that every installation of the tests accepts, unless a test gives another one. */
const TOKEN = 'a-token-of-the-tests-only';
export const tokenEnv = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };

/** One call of the REST API with the tests' own token: a page's login works for that page alone. */
export function callApi(origin: string, method: string, path: string, data?: object): Promise<Response> {
  return fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, ...(data && { 'content-type': 'application/json' }) },
    ...(data && { body: JSON.stringify(data) }),
  });
}
