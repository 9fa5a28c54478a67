/** The login cookie of this Callboard. */
export interface SessionCookie {
  /** Includes the port: browsers share cookies between ports, and two Callboards may run on one host. */
  name: () => string;
  options: { readonly httpOnly: true; readonly sameSite: 'strict'; readonly path: '/' };
}

export const sessionCookie = (port: () => number): SessionCookie => ({
  name: () => `callboard_session_${port()}`,
  options: { httpOnly: true, sameSite: 'strict', path: '/' },
});
