import { spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';

/** A program in a terminal of its own. */
export interface InTerminal {
  press(keys: string): void;
  /** Everything that it has drawn so far. */
  said(): string;
  /** Resolves with its exit code. */
  readonly ended: Promise<number | null>;
}

/**
 * Runs a command line in its own terminal, with the system's `script`. `exec` replaces the shell: some shells would stay and
 * exit with their own code after a Ctrl-C.
 */
export function inTerminal(command: string, env: NodeJS.ProcessEnv): InTerminal {
  const child = spawn('script', ['-qefc', `exec ${command}`, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  onTestFinished(() => void child.kill('SIGKILL'));
  return { press: (keys) => void child.stdin.write(keys), said: () => said, ended };
}
