import { z } from 'zod';

/** The header that carries a page's proof. A cookie alone is not a login. */
export const PAGE_HEADER = 'x-callboard-page';

/** Someone who may use Callboard. `name` is their name in the audit log. */
export const Actor = z.object({ name: z.string() });
export type Actor = z.infer<typeof Actor>;

/**
 * The credential of a command, checked right before the command runs. `page`: the secret of a login's cookie, sent by a web
 * server after the page has proven its key. `token`: an API token. Neither is ever accepted as the other.
 */
export const Credential = z.object({ kind: z.enum(['page', 'token']), secret: z.string().min(1).max(512) });
export type Credential = z.infer<typeof Credential>;

/** The two ends of a connection to the web server, as it sees them: `port` is the sender's. */
export const Peer = z.object({
  address: z.string(),
  port: z.int(),
  ownAddress: z.string(),
  ownPort: z.int(),
});
export type Peer = z.infer<typeof Peer>;

const Coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'is not a coordinate of a P-256 key');

/** The public half of the key that a browser creates at its login (ECDSA P-256, as a JWK). */
export const PageKey = z.strictObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: Coordinate,
  y: Coordinate,
});
export type PageKey = z.infer<typeof PageKey>;

/** A browser or a terminal that is logged in. */
export const Login = z.object({
  loginId: z.string(),
  /** The person who logged in. */
  name: z.string(),
  /** A description: `Firefox on Linux`, `Terminal on desk`. */
  browser: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});
export type Login = z.infer<typeof Login>;

/** What can lead other devices to a Callboard that only its own machine reaches. */
export const Pairing = z.object({
  /** `user@host`, for `ssh`. */
  sshTarget: z.string(),
  /** The command that starts this Callboard again, without its port and the options of how it is reached; null for a demo. */
  startCommand: z.string().nullable(),
  /** Null if Tailscale is not installed on this machine, or not logged in. */
  tailscale: z
    .object({
      /** The machine's name in its tailnet. */
      name: z.string(),
      /** What it serves already: the port, and where that leads if it is a site of this tailnet alone; else ''. */
      serves: z.array(z.object({ port: z.int(), target: z.string() })),
    })
    .nullable(),
});
export type Pairing = z.infer<typeof Pairing>;

/** The body of `POST /api/login`: the code of a login link, and the key that the browser has just created. */
export const LoginBody = z.strictObject({ code: z.string().min(1).max(500), key: PageKey });
/** The body of `POST /api/login/proof`: a nonce from this server, and its signature (ECDSA with SHA-256, `r` and `s`, base64url). */
export const ProofBody = z.strictObject({ nonce: z.string().max(200), signature: z.string().max(200) });
export const Challenge = z.object({ nonce: z.string() });
/** `token` goes into the header `x-callboard-page`. It is valid for the server that issued it, until that server stops. */
export const PageToken = z.object({ token: z.string(), loginId: z.string() });
export type PageToken = z.infer<typeof PageToken>;

/** Returns the text that a page signs. It names the origin, so a signature made for another origin is useless here. */
export const proofText = (origin: string, nonce: string): string => `callboard page\n${origin}\n${nonce}`;
