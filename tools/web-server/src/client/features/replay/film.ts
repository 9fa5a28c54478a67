import { type StageView, type TranscriptEntry, visibleText } from '@callboard/contract';
import { count, exactDuration } from '../../lib/format.ts';
import { field } from '../../lib/tool-text.ts';

/** A finished stage in twenty seconds: what was asked, done, allowed and merged. */
export interface Film {
  title: string;
  steps: readonly FilmStep[];
  lengthMs: number;
}

export interface FilmStep {
  /** When it comes into the picture. */
  atMs: number;
  kind: 'prompt' | 'says' | 'work' | 'decision' | 'end';
  text: string;
  /** Who decided, and how long Claude waited; empty for any other step. */
  detail: string;
  tone: 'plain' | 'needs' | 'fail' | 'done';
  /** Since the first step, in real time. */
  sinceStartMs: number;
  /** Lines that were written and replaced until then, by what Claude sent to its tools. */
  added: number;
  removed: number;
}

export const FILM_MS = 20_000;
const FIRST_MS = 2_500;
const LAST_MS = 4_000;
/** More could not be read in the time. */
const MAX_STEPS = 14;
const MAX_LENGTH = 90;

/** What is left out first where there are too many steps. */
const RANK: Readonly<Record<FilmStep['kind'], number>> = { work: 0, says: 1, decision: 2, prompt: 3, end: 4 };

type Step = Omit<FilmStep, 'atMs' | 'sinceStartMs' | 'added' | 'removed'> & {
  at: string;
  added: number;
  removed: number;
};

/** @param entries the stage's whole transcript */
export function filmOf(stage: StageView, entries: readonly TranscriptEntry[]): Film {
  const all = [...stepsIn(entries), lastStep(stage, entries)].filter((step) => step !== null);
  const steps = atMost(all, MAX_STEPS);
  const start = Date.parse(steps[0]?.at ?? stage.createdAt);
  const between = (FILM_MS - FIRST_MS - LAST_MS) / Math.max(1, steps.length - 2);
  return {
    title: visibleText(stage.title, 'prose'),
    lengthMs: FILM_MS,
    steps: steps.map(({ at, ...step }, index) => ({
      ...step,
      atMs: index === 0 ? 0 : index === steps.length - 1 ? FILM_MS - LAST_MS : FIRST_MS + (index - 1) * between,
      sinceStartMs: Math.max(0, Date.parse(at) - start),
    })),
  };
}

function stepsIn(entries: readonly TranscriptEntry[]): Step[] {
  const steps: Step[] = [];
  const decided = new Set(entries.flatMap((entry) => (entry.kind === 'decision' ? [entry.decision.toolUseId] : [])));
  let [added, removed] = [0, 0];
  let work: Record<'read' | 'edit' | 'run', number> = { read: 0, edit: 0, run: 0 };
  let worksUntil = '';
  let said: { text: string; at: string } | null = null;

  const add = (step: Pick<Step, 'kind' | 'text' | 'at'> & Partial<Step>) =>
    steps.push({ detail: '', tone: 'plain', ...step, text: line(step.text), added, removed });
  const endWork = () => {
    const { read, edit, run } = work;
    const done = [
      read > 0 && `read ${count(read, 'file')}`,
      edit > 0 && `made ${count(edit, 'edit')}`,
      run > 0 && `ran ${count(run, 'command')}`,
    ].filter((text) => text !== false);
    if (done.length > 0) add({ kind: 'work', text: capitalized(done.join(', ')), at: worksUntil });
    work = { read: 0, edit: 0, run: 0 };
  };

  for (const entry of entries) {
    switch (entry.kind) {
      case 'user':
        endWork();
        add({ kind: 'prompt', text: entry.text, at: entry.at });
        break;
      case 'text':
        if (entry.parentToolUseId === null) said = entry;
        break;
      case 'tool-use': {
        const lines = linesOf(entry);
        [added, removed] = [added + lines.added, removed + lines.removed];
        const sort = entry.toolName === 'Bash' ? 'run' : lines.added + lines.removed > 0 ? 'edit' : 'read';
        const isRead = sort !== 'read' || ['Read', 'Grep', 'Glob', 'NotebookRead'].includes(entry.toolName);
        if (isRead && !decided.has(entry.toolUseId)) work[sort] += 1;
        worksUntil = entry.at;
        break;
      }
      case 'decision': {
        endWork();
        const { asked, at } = entry.decision;
        add({ kind: 'decision', text: asked, at, ...verdict(entry.decision) });
        break;
      }
      case 'turn-end':
        endWork();
        if (said !== null) add({ kind: 'says', text: said.text, at: said.at });
        said = null;
        break;
    }
  }
  endWork();
  return steps;
}

function verdict({
  outcome,
  by,
  waitedMs,
  denial,
}: Extract<TranscriptEntry, { kind: 'decision' }>['decision']): Pick<Step, 'detail' | 'tone'> {
  const word = outcome === 'allowed' || outcome === 'answered' ? outcome : outcome === 'denied' ? 'denied' : 'closed';
  const who = denial !== null ? ' by Claude Code' : by === null ? '' : ` by ${by}`;
  const after = denial === null ? ` after ${exactDuration(waitedMs)}` : '';
  return { detail: capitalized(`${word}${who}${after}`), tone: outcome === 'denied' ? 'fail' : 'needs' };
}

function lastStep(stage: StageView, entries: readonly TranscriptEntry[]): Step | null {
  const at = stage.completedAt ?? entries.at(-1)?.at;
  if (at === undefined) return null;
  const { files = 0, additions = 0, deletions = 0 } = stage.session?.changes ?? {};
  const text =
    stage.merged === null
      ? stage.completedAt === null
        ? `Changed ${count(files, 'file')}`
        : 'Done'
      : `Merged into ${stage.merged.into} as ${stage.merged.commit.slice(0, 7)}`;
  const tone = stage.merged === null ? 'plain' : 'done';
  return { kind: 'end', text, detail: '', tone, at, added: additions, removed: deletions };
}

/** The lines that a call writes and replaces, as far as its input tells. */
function linesOf({ input }: Extract<TranscriptEntry, { kind: 'tool-use' }>): { added: number; removed: number } {
  const lines = (text: string) => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length);
  return {
    added: lines(field(input, 'new_string') || field(input, 'content')),
    removed: lines(field(input, 'old_string')),
  };
}

/** Leaves out what matters least, the earliest first. The lines of what is left out are in the steps after it. */
function atMost(steps: readonly Step[], max: number): Step[] {
  const left = steps.map((step, index) => ({ step, index }));
  const order = left.toSorted((a, b) => RANK[a.step.kind] - RANK[b.step.kind] || a.index - b.index);
  // The first step is what was asked for.
  const removed = new Set(order.filter(({ index }) => index > 0).slice(0, Math.max(0, steps.length - max)));
  return left.filter((one) => !removed.has(one)).map(({ step }) => step);
}

/** The first line, without the marks of Markdown, with hidden characters as codes. */
function line(text: string): string {
  const first =
    text
      .trim()
      .split('\n', 1)[0]
      ?.replaceAll(/^#+ |\*\*|`/g, '') ?? '';
  const seen = visibleText(first, 'prose');
  return seen.length > MAX_LENGTH ? `${seen.slice(0, MAX_LENGTH - 1)}…` : seen;
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
