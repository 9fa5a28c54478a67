import { z } from 'zod';

/** The header in which a page of Callboard proves itself; a cookie alone is no login. */
export const PAGE_HEADER = 'x-callboard-page';

/** Someone who may use Callboard: what the audit log calls them. */
export const Actor = z.object({ name: z.string() });
export type Actor = z.infer<typeof Actor>;

/**
 * What a command is given with, checked where it is carried out. `page`: the secret of a login's cookie, from a web
 * server that has had the page prove itself. `token`: an API token. The one is never taken for the other.
 */
export const Credential = z.object({ kind: z.enum(['page', 'token']), secret: z.string().min(1).max(512) });
export type Credential = z.infer<typeof Credential>;

const Coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'is not a coordinate of a P-256 key');

/** The public half of the key that a browser makes at its login (ECDSA P-256, as a JWK). */
export const PageKey = z.strictObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: Coordinate,
  y: Coordinate,
});
export type PageKey = z.infer<typeof PageKey>;

/** A browser that is logged in. */
export const Login = z.object({
  loginId: z.string(),
  /** Whose it is. */
  name: z.string(),
  /** The browser, in words: `Firefox on Linux`. */
  browser: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});
export type Login = z.infer<typeof Login>;

/** The body of `POST /api/login`: the code of a login link, and the key that the browser has just made. */
export const LoginBody = z.strictObject({ code: z.string().min(1).max(500), key: PageKey });
/** The body of `POST /api/login/proof`: a nonce of this server, and its signature (ECDSA with SHA-256, `r` and `s`, base64url). */
export const ProofBody = z.strictObject({ nonce: z.string().max(200), signature: z.string().max(200) });
export const Challenge = z.object({ nonce: z.string() });
/** `token` goes into the header `x-callboard-page`; it is good for the server that gave it, until that ends. */
export const PageToken = z.object({ token: z.string(), loginId: z.string() });
export type PageToken = z.infer<typeof PageToken>;

/** What a page signs. It names the origin, so that what another origin had signed is of no use here. */
export const proofText = (origin: string, nonce: string): string => `callboard page\n${origin}\n${nonce}`;
