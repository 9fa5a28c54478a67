import { createHttpClient, serviceRoutes, TransportError } from '@callboard/contract/client';

/** Ends the login of a token. One that has ended already is no failure. @throws TransportError */
export async function revoke(address: string, token: string): Promise<void> {
  try {
    await createHttpClient({ origin: address, token }).call(serviceRoutes.logOut, {});
  } catch (error) {
    const hasEnded = error instanceof TransportError && error.code === 'not_logged_in';
    if (!hasEnded) throw error;
  }
}
