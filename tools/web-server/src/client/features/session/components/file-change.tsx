import type { FileDiff } from '@callboard/contract';
import { IconChevronRight } from '@tabler/icons-react';
import { pathText } from '../../../lib/paths.ts';
import { HiddenNote, Seen } from '../../../ui/seen.tsx';
import { emptyText, isDrawing, kindLabel, STATUS_TEXTS, statusLetter, unseenText } from '../model/file-change-words.ts';
import css from './stage-changes.module.css';
import type { ChangesListState } from './use-changes-list.ts';

interface FileHeadProps {
  file: FileDiff;
  list: Pick<
    ChangesListState,
    'isOpen' | 'setOpen' | 'isViewed' | 'setViewed' | 'isWhole' | 'showWhole' | 'isImage' | 'showText'
  >;
  /** The copy that stays at the top while the file is in view; only for the eye and the pointer. */
  isCopy?: boolean;
}

/** A file's name, kind and counts. It opens and folds the file, and ticks it as viewed. */
export function FileHead({ file, list, isCopy = false }: FileHeadProps) {
  const isOpen = list.isOpen(file);
  const isViewed = list.isViewed(file);
  const kind = kindLabel(file);
  const Heading = isCopy ? 'div' : 'h2';
  return (
    <div className={css.head} data-viewed={isViewed}>
      <Heading>
        <button
          type="button"
          className={css.fold}
          aria-expanded={isOpen}
          tabIndex={isCopy ? -1 : undefined}
          onClick={() => list.setOpen(file, !isOpen)}
        >
          <IconChevronRight size={14} className={css.chevron} data-open={isOpen} aria-hidden />
          <StatusLetter file={file} />
          <span className={css.path} title={pathText(file.path)}>
            {file.oldPath !== null && (
              <>
                <Seen text={file.oldPath} kind="command" />
                {' → '}
              </>
            )}
            <Seen text={file.path} kind="command" />
          </span>
          {kind !== null && <span className={css.kind}>{kind}</span>}
        </button>
      </Heading>
      <Counts file={file} />
      {isOpen && isDrawing(file) && (
        <button
          type="button"
          className={css.whole}
          tabIndex={isCopy ? -1 : undefined}
          aria-label={`Show ${pathText(file.path)} as ${list.isImage(file) ? 'text' : 'an image'}`}
          onClick={() => list.showText(file, list.isImage(file))}
        >
          {list.isImage(file) ? 'As text' : 'As image'}
        </button>
      )}
      {isOpen && hasContext(file) && !list.isImage(file) && (
        <button
          type="button"
          className={css.whole}
          tabIndex={isCopy ? -1 : undefined}
          aria-pressed={list.isWhole(file)}
          aria-label={`Whole file ${pathText(file.path)}`}
          onClick={() => list.showWhole(file, !list.isWhole(file))}
        >
          {list.isWhole(file) ? 'Changes only' : 'Whole file'}
        </button>
      )}
      <label className={css.viewed}>
        <input
          type="checkbox"
          tabIndex={isCopy ? -1 : undefined}
          aria-label={`Viewed ${pathText(file.path)}`}
          checked={isViewed}
          onChange={(event) => list.setViewed(file, event.currentTarget.checked)}
        />
        <span aria-hidden>Viewed</span>
      </label>
    </div>
  );
}

/** Whether there may be lines that the hunks leave out. */
const hasContext = ({ status, isBinary }: FileDiff) => !isBinary && (status === 'modified' || status === 'renamed');

/** A file that is folded for what it is. */
export const FoldedFile = ({ file, show }: { file: FileDiff; show: () => void }) => (
  <p className={css.remark}>
    {file.isGenerated ? 'Made by a program' : `${(file.additions + file.deletions).toLocaleString()} changed lines`}:
    folded.{' '}
    <button type="button" className={css.whole} aria-label={`Show ${pathText(file.path)}`} onClick={show}>
      Show
    </button>
  </p>
);

/** A, M, D or R, as git says it, with the word for a screen reader. */
export const StatusLetter = ({ file }: { file: FileDiff }) => (
  <span className={css.letter} data-status={file.status} title={STATUS_TEXTS[file.status]}>
    <span aria-hidden>{statusLetter(file)}</span>
    <span className="visually-hidden">{STATUS_TEXTS[file.status]}</span>
  </span>
);

/** How many lines were added and removed; what is none is left out. */
export const Counts = ({ file: { additions, deletions } }: { file: Pick<FileDiff, 'additions' | 'deletions'> }) => (
  <span className={css.counts}>
    {additions > 0 && <span className={css.plus}>+{additions.toLocaleString()}</span>}
    {deletions > 0 && <span className={css.minus}>−{deletions.toLocaleString()}</span>}
  </span>
);

/** What has to be known of a file beside its lines: hidden characters, what is not shown, why there are no lines. */
export function FileAbout({ file, patch }: { file: FileDiff; patch: string | null }) {
  const empty = emptyText(file, patch);
  const unseen = unseenText(file, patch ?? '');
  return (
    <>
      <HiddenNote
        texts={[
          [file.path, 'command'],
          [file.oldPath ?? '', 'command'],
          [patch ?? '', 'code'],
        ]}
      />
      {unseen !== null && <p className={css.remark}>{unseen}</p>}
      {empty !== null && <p className={css.remark}>{empty}</p>}
    </>
  );
}
