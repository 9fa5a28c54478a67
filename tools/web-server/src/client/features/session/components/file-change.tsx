import { type FileDiff, type StageDiff, type StageId, visibleText } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { IconChevronRight } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useId, useMemo, useState } from 'react';
import { errorText } from '../../../lib/api-client.ts';
import { FailureNote } from '../../../ui/note.tsx';
import { HiddenNote, Seen } from '../../../ui/seen.tsx';
import { filePatchQuery, isOutdated, useReloadDiff } from '../api/stage-diff.ts';
import { emptyWords, kindWords, unseenWords } from '../model/file-change-words.ts';
import { type PatchLine, patchLines } from '../model/patch.ts';
import { useOpen } from '../model/session-ui.ts';
import css from './stage-changes.module.css';

/** A change with more lines is folded by default. */
const LONG = 300;
const FIRST = 400;

const STATUS = { added: 'new', modified: '', deleted: 'deleted', renamed: 'renamed' };

interface FileChangeProps {
  stageId: StageId;
  /** The changes on screen. */
  diff: StageDiff;
  file: FileDiff;
}

/** The change of one file. */
export function FileChange({ stageId, diff, file }: FileChangeProps) {
  const kind = kindWords(file);
  const [open, setOpen] = useOpen(`file:${stageId}:${file.path}`, file.additions + file.deletions <= LONG);
  const bodyId = useId();
  return (
    <div className={css.file}>
      <h2>
        <button
          type="button"
          className={css.fileLine}
          aria-expanded={open}
          aria-controls={open ? bodyId : undefined}
          onClick={() => setOpen(!open)}
        >
          <IconChevronRight size={16} className={css.chevron} data-open={open} aria-hidden />
          <span className={css.path} title={visibleText(file.path, 'command')}>
            {file.oldPath !== null && (
              <>
                <Seen text={file.oldPath} kind="command" />
                {' → '}
              </>
            )}
            <Seen text={file.path} kind="command" />
          </span>
          {kind !== null && <span className={css.status}>{kind}</span>}
          {STATUS[file.status] !== '' && <span className={css.status}>{STATUS[file.status]}</span>}
          <span className={css.counts}>
            <span className={css.plus}>+{file.additions}</span> <span className={css.minus}>−{file.deletions}</span>
          </span>
        </button>
      </h2>
      {open && (
        <div id={bodyId}>
          <FileBody stageId={stageId} diff={diff} file={file} />
        </div>
      )}
    </div>
  );
}

/** Loads the patch when it comes into view. */
function FileBody({ stageId, diff, file }: FileChangeProps) {
  const { ref, inViewport } = useInViewport<HTMLDivElement>();
  const query = filePatchQuery(stageId, diff, file.path);
  const { data: patch, error } = useQuery({
    ...query,
    enabled: (state) => inViewport || state.state.data !== undefined,
  });
  const reloadDiff = useReloadDiff(stageId);
  if (error !== null)
    return (
      <FailureNote>
        {errorText(error)}{' '}
        {isOutdated(error) && (
          <Button size="compact-sm" variant="default" onClick={reloadDiff}>
            Reload the changes
          </Button>
        )}
      </FailureNote>
    );
  if (patch === undefined)
    return (
      <div
        ref={ref}
        className={css.unread}
        role="status"
        aria-label={`Reading the changes of ${visibleText(file.path, 'command')}`}
      />
    );
  const empty = emptyWords(file, patch);
  const unseen = unseenWords(file, patch ?? '');
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
      {patch !== null && patch !== '' && <Patch patch={patch} path={visibleText(file.path, 'command')} />}
    </>
  );
}

function Patch({ patch, path }: { patch: string; path: string }) {
  const lines = useMemo(() => patchLines(patch), [patch]);
  const [shown, setShown] = useState(FIRST);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard */}
      <section className={css.patch} tabIndex={0} aria-label={`Changes of ${path}`}>
        <table>
          <tbody>
            {lines.slice(0, shown).map((line, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
              <Line key={index} line={line} />
            ))}
          </tbody>
        </table>
      </section>
      {lines.length > shown && (
        <Button size="compact-sm" variant="subtle" m={4} onClick={() => setShown(shown + FIRST * 5)}>
          Show more ({(lines.length - shown).toLocaleString()} lines)
        </Button>
      )}
    </>
  );
}

const SAID = { same: '', removed: 'Removed: ', added: 'Added: ', gap: '', remark: '' };

function Line({ line }: { line: PatchLine }) {
  if (line.kind === 'gap' || line.kind === 'remark')
    return (
      <tr className={css[line.kind]}>
        <td colSpan={3}>
          {line.kind === 'gap' && '⋯ '}
          <Seen text={line.text} kind="code" />
        </td>
      </tr>
    );
  return (
    <tr className={css[line.kind]}>
      <td className={css.number}>{line.before}</td>
      <td className={css.number}>{line.after}</td>
      <td className={css.code}>
        <span className="visually-hidden">{SAID[line.kind]}</span>
        <Seen text={line.text} kind="code" />
      </td>
    </tr>
  );
}
