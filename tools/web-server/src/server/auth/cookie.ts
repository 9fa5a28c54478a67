/** The login cookie of one Callboard. */
export interface SessionCookie {
  /** Carries the port: cookies do not tell ports apart, and two Callboards may run on one host. */
  name: () => string;
  options: { readonly httpOnly: true; readonly sameSite: 'strict'; readonly path: '/' };
}

export const sessionCookie = (port: () => number): SessionCookie => ({
  name: () => `callboard_session_${port()}`,
  options: { httpOnly: true, sameSite: 'strict', path: '/' },
});
