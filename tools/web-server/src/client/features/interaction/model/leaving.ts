let sending = 0;

// The browser asks in its own words.
const ask = (event: BeforeUnloadEvent) => event.preventDefault();

/** Has the browser ask before the page is left while something is being sent: it would not arrive, and nobody would say so. */
export async function askBeforeLeaving<T>(send: () => Promise<T>): Promise<T> {
  if (sending === 0) window.addEventListener('beforeunload', ask);
  sending += 1;
  try {
    return await send();
  } finally {
    sending -= 1;
    if (sending === 0) window.removeEventListener('beforeunload', ask);
  }
}
