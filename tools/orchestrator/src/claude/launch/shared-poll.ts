/** Has many looked at in turn, with one timer for all. */
export interface Rounds {
  /** `look` is called in each round from the next one on; it returns whether it had anything to do. Returns how to leave. */
  join(look: () => boolean): () => void;
  /** Somebody may have something to do: a rest is over. */
  hurry(): void;
}

export interface RoundsParts {
  everyMs: number;
  /** After a round in which nobody had anything to do. As ever, if it is left out. */
  restMs?: number;
  /** So many who have something to do are looked at in one round; of more, those whose turn it is. All, if it is left out. */
  most?: number;
}

export function createRounds({ everyMs, restMs = everyMs, most = Number.POSITIVE_INFINITY }: RoundsParts): Rounds {
  /** In the order of their turns. */
  const looks = new Set<() => boolean>();
  let timer: NodeJS.Timeout | undefined;
  let isResting = false;

  function round(): void {
    let done = 0;
    for (const look of [...looks]) {
      if (done === most) break;
      if (!looks.has(look) || !look()) continue;
      done++;
      if (looks.delete(look)) looks.add(look); // behind the others
    }
    isResting = done === 0;
    clearTimeout(timer);
    timer = looks.size === 0 ? undefined : setTimeout(round, isResting ? restMs : everyMs).unref();
  }

  function hurry(): void {
    if (!isResting) return;
    isResting = false;
    clearTimeout(timer);
    timer = setTimeout(round, 0).unref();
  }

  return {
    join(look) {
      looks.add(look);
      if (timer === undefined) timer = setTimeout(round, everyMs).unref();
      else hurry();
      return () => {
        looks.delete(look);
        if (looks.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
        isResting = false;
      };
    },
    hurry,
  };
}
