import type { RewindRecord } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router';
import { clockTime, count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { exactOnHover } from '../../../ui/exact-on-hover.ts';
import { useUndoRewind } from '../api/going-back.ts';
import type { GrowingItems } from '../model/growing-items.ts';
import { useSessionUi } from '../model/session-ui.ts';
import { foldRewound, rewoundKey } from '../model/taken-back.ts';
import css from './taken-back.module.css';
import { useTranscriptDeps } from './transcript-context.tsx';

/** The items without what was taken back, unless somebody has opened it. A search, and a link to one of its entries, open it. */
export function useFolded(items: GrowingItems, rewinds: readonly RewindRecord[], isFinding: boolean) {
  const [params] = useSearchParams();
  const wanted = Number(params.get('entry') ?? Number.NaN);
  const open = useSessionUi(({ opened }) =>
    rewinds
      .filter((one) => isFinding || (opened[rewoundKey(one)] ?? (one.from <= wanted && wanted <= one.to)))
      .map(({ id }) => id)
      .join(' '),
  );
  return useMemo(() => {
    const ids = new Set(open.split(' '));
    return { items: foldRewound(items, rewinds, ({ id }) => ids.has(id)), openIds: ids };
  }, [items, rewinds, open]);
}

/** The line that opens and closes what was taken back. */
export function RewoundLine({ goneBack }: { goneBack: RewindRecord }) {
  const { at, by, from, to } = goneBack;
  const isOpen = useTranscriptDeps().isOpen(goneBack);
  return (
    <button
      type="button"
      className={css.line}
      aria-expanded={isOpen}
      onClick={() => useSessionUi.getState().setOpen(rewoundKey(goneBack), !isOpen)}
    >
      <IconChevronRight size={16} className={css.chevron} data-open={isOpen} aria-hidden />
      <span>
        Taken back at{' '}
        <time dateTime={at} {...exactOnHover(at)}>
          {clockTime(at)}
        </time>{' '}
        by {by}
      </span>{' '}
      <span className={css.about}>{count(to - from + 1, 'entry', 'entries')}</span>
    </button>
  );
}

/** Brings back what was before somebody went back; nothing once a message was sent. `index`: the notice that says so. */
export function UndoRewind({ index }: { index: number }) {
  const { goneBack, stageId } = useTranscriptDeps();
  const last = goneBack.at(-1);
  const undo = useUndoRewind(stageId);
  const canCommand = useCanCommand();
  if (last === undefined || !last.canUndo || index <= last.to) return null;
  return (
    <Button
      variant="default"
      size="compact-sm"
      mt={8}
      display="block"
      disabled={!canCommand}
      loading={undo.isPending}
      onClick={() => undo.mutate()}
    >
      Undo
    </Button>
  );
}
