import type { LiveNow, SessionNowUpdate, StageId, TextDelta } from '@callboard/contract';
import type { AgentEvent } from '../agent-event.ts';

/** The longest text that is told, in characters. */
const MAX_SENTENCE_LENGTH = 120;
/** How much text is kept to make it from: sentences, marks and blanks are left out. */
const SAVED = 8 * MAX_SENTENCE_LENGTH;

/** Tracks what Claude itself does in a turn: whether it writes, and what. A subagent's text is not told. */
export interface LiveNowTracker {
  take(event: AgentEvent): void;
  /** Returns null while it does nothing finer than thinking, and while a tool runs. */
  read(): LiveNow | null;
  /** The process is gone. */
  clear(): void;
}

/** @param onChange called for each change, also many times a second */
export function createLiveNow(onChange: () => void): LiveNowTracker {
  let doing: { kind: 'writing'; text: string } | { kind: 'preparing'; toolName: string } | null = null;

  function becomes(next: typeof doing): void {
    if (doing === null && next === null) return;
    doing = next;
    onChange();
  }

  return {
    take(event) {
      switch (event.type) {
        case 'delta': {
          if (event.parentToolUseId !== null) return;
          if (event.kind === 'thinking') return becomes(null);
          const before = doing?.kind === 'writing' ? doing.text : '';
          return becomes({ kind: 'writing', text: retain(before + event.text) });
        }
        case 'preparing':
          if (event.parentToolUseId === null) becomes({ kind: 'preparing', toolName: event.toolName });
          return;
        case 'block':
          // The text of a block stays until something else follows: it is the newest thing that Claude did.
          if (event.parentToolUseId === null && event.block.kind !== 'text') becomes(null);
          return;
        case 'tool-result':
          if (event.parentToolUseId === null) becomes(null);
          return;
        case 'turn-started':
        case 'turn-ended':
          return becomes(null);
        default:
      }
    },
    read: () => (doing?.kind === 'writing' ? { kind: 'writing', text: newestSentence(doing.text) } : doing),
    clear: () => becomes(null),
  };
}

const FENCE = '```';

/** Drops the beginning of a text that has grown too long. What is left begins inside a code block if that is where it was cut. */
function retain(text: string): string {
  if (text.length <= SAVED) return text;
  let cut = text.length - SAVED;
  while (text[cut] === '`') cut++;
  const isInCode = (text.slice(0, cut).split(FENCE).length - 1) % 2 === 1;
  return (isInCode ? FENCE : '') + text.slice(cut);
}

/** Shorter beginnings say nothing yet: until then, the sentence before is told. */
const MIN_SENTENCE_LENGTH = 12;

/** Returns the beginning of the newest sentence of a text as one plain line, without code blocks and marks of Markdown; empty if there is none. */
export function newestSentence(text: string): string {
  const lines = text
    .replaceAll(/```[\s\S]*?(?:```|$)/g, '\n')
    .replaceAll(/^[ \t]*(#{1,6}|[-*+]|\d+\.|>)([ \t]+|$)/gm, '')
    .replaceAll(/\*\*|__|`/g, '')
    .split('\n');
  const sentences = lines.flatMap((line) => line.trim().split(/(?<=[.!?][)"'”’]*)\s+/)).filter((one) => one !== '');
  const newest = sentences.at(-1) ?? '';
  const isBegun = newest.length >= MIN_SENTENCE_LENGTH || /[.!?:]$/.test(newest);
  const told = isBegun ? newest : (sentences.at(-2) ?? newest);
  const short = told.replaceAll(/\s+/g, ' ');
  return short.length <= MAX_SENTENCE_LENGTH
    ? short
    : `${short.slice(0, MAX_SENTENCE_LENGTH - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** A piece of text as it arrived. */
export type Piece = Omit<TextDelta, 'stageId' | 'offset'>;

/** The unfinished text of a process, for readers who join while it streams. */
export interface LiveText {
  /** Adds a piece and returns it with its offset in its block. */
  add(piece: Piece): TextDelta;
  /** Returns each unfinished block from its beginning, in the order in which they began. */
  blocks(): TextDelta[];
  /** The turn is over: forgets all blocks. */
  clear(): void;
}

/** Only the length of a longer block is kept, to bound memory; nobody writes one. */
const MAX_LENGTH = 2_000_000;

export function createLiveText(stageId: StageId): LiveText {
  const blocks = new Map<string, { first: Piece; texts: string[]; length: number }>();
  return {
    add(piece) {
      let block = blocks.get(piece.blockId);
      if (block === undefined) {
        // The blocks of one writer come one after the other.
        for (const [id, { first }] of blocks) if (first.parentToolUseId === piece.parentToolUseId) blocks.delete(id);
        block = { first: piece, texts: [], length: 0 };
        blocks.set(piece.blockId, block);
      }
      const offset = block.length;
      block.length += piece.text.length;
      if (block.length <= MAX_LENGTH) block.texts.push(piece.text);
      else block.texts = [];
      return { ...piece, stageId, offset };
    },
    blocks: () =>
      [...blocks.values()]
        .filter(({ length }) => length <= MAX_LENGTH)
        .map(({ first, texts }) => ({ ...first, text: texts.join(''), stageId, offset: 0 })),
    clear: () => blocks.clear(),
  };
}

/** Tells at intervals what Claude does in each session, finer than the store knows. Nothing of it is stored. */
export interface LiveNows {
  /** It may have changed for a stage; `read` is called when it is told. */
  changed(stageId: StageId, read: () => LiveNow | null): void;
  /** Returns what was told last; null if the session's own `now` says it all. */
  of(stageId: StageId): LiveNow | null;
  stop(): void;
}

/**
 * Each session is told of at most once in `everyMs`, all that changed together: that wakes the web server once, however
 * many sessions write. The first change after a silence is told at once.
 */
export function createLiveNows(everyMs: number, notify: (update: SessionNowUpdate) => void): LiveNows {
  const changed = new Map<StageId, () => LiveNow | null>();
  const reported = new Map<StageId, LiveNow>();
  let timer: NodeJS.Timeout | undefined;

  function notifyAll(): void {
    const all = [...changed];
    changed.clear();
    timer = all.length === 0 ? undefined : setTimeout(notifyAll, everyMs).unref();
    for (const [stageId, read] of all) {
      const now = read();
      const before = reported.get(stageId) ?? null;
      if (isSame(now, before)) continue;
      if (now === null) reported.delete(stageId);
      else reported.set(stageId, now);
      notify({ stageId, now });
    }
  }

  return {
    changed(stageId, read) {
      changed.set(stageId, read);
      timer ??= setTimeout(notifyAll, 0).unref();
    },
    of: (stageId) => reported.get(stageId) ?? null,
    stop: () => clearTimeout(timer),
  };
}

function isSame(a: LiveNow | null, b: LiveNow | null): boolean {
  if (a?.kind === 'writing') return b?.kind === 'writing' && a.text === b.text;
  if (a?.kind === 'preparing') return b?.kind === 'preparing' && a.toolName === b.toolName;
  return b === null;
}
