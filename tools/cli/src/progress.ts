import type { Platform } from './platform.ts';

/** A line on the terminal that says what is being done, with the seconds once it takes some. */
export interface Progress {
  say(text: string): void;
  /** Takes the line off the terminal, for other output; `say` brings it back. */
  clear(): void;
}

const EVERY_MS = 1_000;

/** Shows progress on stderr if that is a terminal; elsewhere nothing is written, so that programs read what they always read. */
export function createProgress(
  { progress }: Pick<Platform, 'progress'>,
  now: () => number = () => performance.now(),
): Progress {
  let timer: NodeJS.Timeout | undefined;
  const clear = () => {
    clearInterval(timer);
    timer = undefined;
    progress?.(null);
  };
  return {
    say(text) {
      if (progress === null) return;
      clear();
      const since = now();
      const draw = () => {
        const seconds = Math.floor((now() - since) / 1_000);
        progress(`callboard: ${text}...${seconds === 0 ? '' : ` ${seconds} s`}`);
      };
      draw();
      timer = setInterval(draw, EVERY_MS).unref();
    },
    clear,
  };
}
