import { readFileSync } from 'node:fs';

/** A terminal in raw mode no longer sends the signals of these keys to the processes in its foreground. */
const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = { '\x03': 'SIGINT', '\x1a': 'SIGTSTP', '\x1c': 'SIGQUIT' };

/**
 * Calls `onKey` for each key pressed in the terminal, without Enter, and whether it came alone. Ctrl-C, Ctrl-Z and Ctrl-\ keep their effect. In the
 * background it does not listen: the system stops a background process that reads from the terminal.
 * @returns how to stop listening; null if there is no terminal in the foreground
 */
export function listenForKeys(
  process: NodeJS.Process,
  onKey: (key: string, isAlone: boolean) => void,
): (() => void) | null {
  const { stdin } = process;
  if (!stdin.isTTY || !isInForeground()) return null;

  const listen = () => {
    stdin.setRawMode(true);
    stdin.resume();
  };
  const onData = (data: Buffer) => {
    const keys = [...data.toString()];
    for (const key of keys) {
      const signal = SIGNALS[key];
      if (signal === undefined) onKey(key, keys.length === 1);
      else send(signal);
    }
  };
  const send = (signal: NodeJS.Signals) => {
    if (signal === 'SIGTSTP') stdin.setRawMode(false);
    process.kill(0, signal);
  };
  /** After Ctrl-Z: `fg`, or `bg`. */
  const onContinue = () => {
    if (isInForeground()) listen();
    else stdin.pause();
  };
  stdin.on('data', onData);
  process.on('SIGCONT', onContinue);
  listen();
  return () => {
    process.removeListener('SIGCONT', onContinue);
    stdin.removeListener('data', onData);
    if (isInForeground()) stdin.setRawMode(false);
    stdin.pause();
    stdin.unref();
  };
}

/** Whether the terminal's keys go to this process group. Assumed if the system does not tell. */
function isInForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return true;
  }
}
