import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a person types, or another program pipes in. */
export interface TerminalInput {
  /** Whether a person types it. */
  readonly isTerminal: boolean;
  /** Resolves with all that is piped in. */
  read(): Promise<string>;
  /**
   * Asks on the terminal. Resolves with the line; null if the person ends the input (Ctrl-D) or cancels (Ctrl-C). What was typed before
   * the question had stood for half a second answers nothing.
   */
  ask(question: string): Promise<string | null>;
}

const CHECK_INTERVAL_MS = 500;

/** Returns the input of a process. */
export const terminalInput = ({ stdin, stderr }: NodeJS.Process): TerminalInput => ({
  isTerminal: stdin.isTTY === true,
  async read() {
    let text = '';
    for await (const part of stdin.setEncoding('utf8')) text += String(part);
    return text;
  },
  async ask(question) {
    stderr.write(question);
    await dropTyped(stdin);
    const lines = createInterface({ input: stdin, output: stderr });
    try {
      return await new Promise<string | null>((resolve) => {
        lines.once('SIGINT', () => resolve(null));
        lines.once('close', () => resolve(null));
        lines.question('', resolve);
      });
    } finally {
      lines.close();
    }
  },
});

async function dropTyped(stdin: NodeJS.ReadStream): Promise<void> {
  const drop = () => undefined;
  stdin.setRawMode(true);
  stdin.on('data', drop).resume();
  await sleep(CHECK_INTERVAL_MS);
  stdin.off('data', drop).pause();
  stdin.setRawMode(false);
}
