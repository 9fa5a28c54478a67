import type { FileDiff } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useId, useMemo, useState } from 'react';
import { useOpen } from '../model/open-items.ts';
import { type PatchLine, patchLines } from '../model/patch.ts';
import css from './stage-changes.module.css';

/** A longer change is folded by itself. */
const LONG = 300;
const FIRST = 400;

const STATUS = { added: 'new', modified: '', deleted: 'deleted', renamed: 'renamed' };

/** One file's change; `id` is its own among all that can be opened. */
export function FileChange({ id, file }: { id: string; file: FileDiff }) {
  const [open, setOpen] = useOpen(`file:${id}`, file.additions + file.deletions <= LONG);
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
          <span className={css.path} title={file.path}>
            {file.oldPath !== null && `${file.oldPath} → `}
            {file.path}
          </span>
          {STATUS[file.status] !== '' && <span className={css.status}>{STATUS[file.status]}</span>}
          <span className={css.counts}>
            <span className={css.plus}>+{file.additions}</span> <span className={css.minus}>-{file.deletions}</span>
          </span>
        </button>
      </h2>
      {open && (
        <div id={bodyId}>
          <FileBody file={file} />
        </div>
      )}
    </div>
  );
}

function FileBody({ file }: { file: FileDiff }) {
  if (file.isBinary) return <p className={css.remark}>A binary file: its content is not shown.</p>;
  if (file.patch === null) return <p className={css.remark}>This change is too long to be shown here.</p>;
  if (file.patch === '' && file.status === 'added') return <p className={css.remark}>An empty file.</p>;
  return <Patch patch={file.patch} path={file.path} />;
}

function Patch({ patch, path }: { patch: string; path: string }) {
  const lines = useMemo(() => patchLines(patch), [patch]);
  const [shown, setShown] = useState(FIRST);
  if (lines.length === 0) return <p className={css.remark}>Its content is unchanged.</p>;
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
        <td colSpan={3}>{line.kind === 'gap' ? `⋯ ${line.text}` : line.text}</td>
      </tr>
    );
  return (
    <tr className={css[line.kind]}>
      <td className={css.number}>{line.before}</td>
      <td className={css.number}>{line.after}</td>
      <td className={css.code}>
        <span className="visually-hidden">{SAID[line.kind]}</span>
        {line.text}
      </td>
    </tr>
  );
}
