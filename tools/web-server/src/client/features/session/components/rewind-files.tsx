import type { RewindPlan } from '@callboard/contract';
import { count } from '../../../lib/format.ts';
import { LineCounts } from '../../../ui/line-counts.tsx';
import { Note } from '../../../ui/note.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { blockedFiles, commitsText, fileText, unsavedFiles } from '../model/going-back-words.ts';
import css from './moment-dialog.module.css';

type Files = NonNullable<RewindPlan['files']>;

/** Every file that goes back, what differs and stays, and what is in no snapshot. */
export function RewindFiles({ files }: { files: Files }) {
  const { changes, counts } = files;
  const commits = commitsText(files);
  const blocked = blockedFiles(files);
  const unsaved = unsavedFiles(files);
  const more = counts.files - changes.length;
  return (
    <>
      {changes.length > 0 && (
        <ul className={css.files} aria-label="Files that change">
          {changes.map((file) => (
            <li key={file.path}>
              <Path path={file.path} />
              <span className={css.why}>
                {fileText(file)} <LineCounts added={file.additions} removed={file.deletions} />
              </span>
            </li>
          ))}
          {more > 0 && <li className={css.why}>and {more} more</li>}
        </ul>
      )}
      {commits !== null && <p className={css.quiet}>{commits}</p>}
      {blocked.length > 0 && (
        <Note>
          {count(blocked.length, 'file')} cannot be restored and {blocked.length === 1 ? 'stays' : 'stay'} as{' '}
          {blocked.length === 1 ? 'it is' : 'they are'}:
          <Staying files={blocked} label="Cannot be restored" />
        </Note>
      )}
      {unsaved.length > 0 && (
        <details className={css.fold}>
          <summary>
            Not part of this: {count(unsaved.length, 'file or folder', 'files and folders')} that Callboard does not
            keep
          </summary>
          <Staying files={unsaved} label="Not kept" />
        </details>
      )}
    </>
  );
}

const Staying = ({ files, label }: { files: readonly { path: string; why: string }[]; label: string }) => (
  <ul className={css.files} aria-label={label}>
    {files.map(({ path, why }) => (
      <li key={path}>
        <Path path={path} />
        <span className={css.why}>{why}</span>
      </li>
    ))}
  </ul>
);

const Path = ({ path }: { path: string }) => (
  <code>
    <Seen text={path} kind="command" />
  </code>
);
