import { createInterface } from 'node:readline';

/**
 * Asks the person at the terminal.
 * @returns the line they type; '' if they close the input; null if there is no terminal
 * @throws the signal's reason if it aborts
 */
export async function ask(
  { stdin, stderr }: NodeJS.Process,
  question: string,
  signal: AbortSignal,
): Promise<string | null> {
  signal.throwIfAborted();
  if (!stdin.isTTY || !stderr.isTTY) return null;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  stderr.write(question);
  // Not as a terminal: the system then handles Ctrl-C and the editing of the line.
  const lines = createInterface({ input: stdin, terminal: false });
  lines.once('line', resolve).once('close', () => resolve(''));
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    lines.close();
  }
}
