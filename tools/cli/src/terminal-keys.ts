import { readFileSync } from 'node:fs';

/** What a terminal in raw mode no longer does by itself: the signals of its keys, to the processes in its foreground. */
const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = { '\x03': 'SIGINT', '\x1a': 'SIGTSTP', '\x1c': 'SIGQUIT' };

/**
 * Calls `onKey` for each key that is pressed in the terminal, without Enter; Ctrl-C and Ctrl-Z do what they always do.
 * In the background it does not listen: whoever reads there is stopped by the system.
 * @returns how to stop listening; null where there is no terminal to listen to
 */
export function listenForKeys(process: NodeJS.Process, onKey: (key: string) => void): (() => void) | null {
  const { stdin } = process;
  if (!stdin.isTTY || !isInForeground()) return null;

  const begin = () => {
    stdin.setRawMode(true);
    stdin.resume();
  };
  const onData = (data: Buffer) => {
    for (const key of data.toString()) {
      const signal = SIGNALS[key];
      if (signal === undefined) onKey(key);
      else pass(signal);
    }
  };
  const pass = (signal: NodeJS.Signals) => {
    if (signal === 'SIGTSTP') stdin.setRawMode(false);
    process.kill(0, signal);
  };
  /** After Ctrl-Z: `fg`, or `bg`. */
  const onContinue = () => {
    if (isInForeground()) begin();
    else stdin.pause();
  };
  stdin.on('data', onData);
  process.on('SIGCONT', onContinue);
  begin();
  return () => {
    process.removeListener('SIGCONT', onContinue);
    stdin.removeListener('data', onData);
    if (isInForeground()) stdin.setRawMode(false);
    stdin.pause();
    stdin.unref();
  };
}

/** Whether the terminal's keys are meant for our process group; taken to be so where that cannot be found out. */
function isInForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return true;
  }
}
