import type { Adopted, StageView } from '@callboard/contract';
import { IconChevronRight } from '@tabler/icons-react';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router';
import type { Transcript } from '../../../data/transcript-pages.ts';
import { count } from '../../../lib/format.ts';
import { useOpen } from '../model/session-ui.ts';
import css from './before-callboard.module.css';

export interface BeforeCallboard {
  adopted: Adopted;
  isOpen: boolean;
  setOpen: (open: boolean) => void;
}

/** What was said before a conversation came to Callboard, folded away until somebody opens it, searches, or jumps there. */
export function useBeforeCallboard({ id, adopted }: StageView, isFinding: boolean): BeforeCallboard | null {
  const [params] = useSearchParams();
  const wanted = Number(params.get('entry') ?? Number.NaN);
  const [isOpen, setOpen] = useOpen(`before:${id}`, wanted <= (adopted?.lastEntry ?? 0));
  if (adopted === null || adopted.lastEntry === 0) return null;
  return { adopted, isOpen: isOpen || isFinding, setOpen };
}

/** What is loaded of a transcript, without what is folded away. */
export function useShown(transcript: Transcript, before: BeforeCallboard | null): Transcript {
  const after = before === null || before.isOpen ? 0 : before.adopted.lastEntry;
  return useMemo(
    () =>
      after === 0 ? transcript : { ...transcript, entries: transcript.entries.filter(({ index }) => index > after) },
    [transcript, after],
  );
}

/** The line above the transcript that opens and closes what was said before. */
export function BeforeCallboardLine({ before: { adopted, isOpen, setOpen } }: { before: BeforeCallboard }) {
  return (
    <button type="button" className={css.line} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      <IconChevronRight size={16} className={css.chevron} data-open={isOpen} aria-hidden />
      <span>Before Callboard</span>
      <span className={css.about}>
        {count(adopted.lastEntry, 'entry', 'entries')} from {adopted.folder}
      </span>
    </button>
  );
}
