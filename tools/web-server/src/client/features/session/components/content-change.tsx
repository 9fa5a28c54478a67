import type { FileContent, FileDiff, StageDiff, StageId } from '@callboard/contract';
import { Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { formatSize } from '../../../lib/format.ts';
import { pathText } from '../../../lib/paths.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { contentQuery } from '../api/stage-diff.ts';
import css from './content-change.module.css';
import changes from './stage-changes.module.css';

interface ContentChangeProps {
  stageId: StageId;
  diff: StageDiff;
  file: FileDiff;
}

/** A file's content as a whole: an image before and after, or only how large it was and is. */
export function ContentChange({ stageId, diff, file }: ContentChangeProps) {
  const { data, error, refetch } = useQuery(contentQuery(stageId, diff, file));
  const hasBefore = file.status !== 'added';
  const hasAfter = file.status !== 'deleted';
  const hasImage = data !== undefined && [data.before, data.after].some((side) => side?.dataBase64 != null);
  const name = pathText(file.path);
  return (
    <>
      {error !== null && <ErrorNote lead="The content could not be read." error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && (
        <p className={changes.remark}>
          <Loader size="sm" color="gray" role="img" aria-label={`Reading ${name}`} />
        </p>
      )}
      {data !== undefined && !hasImage && (
        <p className={changes.remark}>
          {file.isBinary ? 'A binary file: its content is not shown.' : 'This image cannot be shown.'}
        </p>
      )}
      {data !== undefined && (
        <div className={css.sides}>
          {hasBefore && <Content name={name} title="Before" content={data.before} />}
          {hasAfter && <Content name={name} title={hasBefore ? 'After' : 'Added'} content={data.after} />}
        </div>
      )}
    </>
  );
}

/** A side of the change. An `<img>` runs nothing of an SVG and loads nothing for it; a data URL has no access to this page even when it is opened alone. */
function Content({ name, title, content }: { name: string; title: string; content: FileContent | null }) {
  const [size, setSize] = useState<string | null>(null);
  const [isBroken, setBroken] = useState(false);
  if (content === null) return null;
  const { bytes, mediaType, dataBase64 } = content;
  return (
    <figure className={css.side}>
      <figcaption>
        {title} <span className={css.facts}>{size === null ? formatSize(bytes) : `${size}, ${formatSize(bytes)}`}</span>
      </figcaption>
      {isBroken && <p className={css.facts}>The browser cannot draw this image.</p>}
      {!isBroken && mediaType !== null && dataBase64 !== null && (
        <img
          src={`data:${mediaType};base64,${dataBase64}`}
          alt={`${title}: ${name}`}
          onError={() => setBroken(true)}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => {
            // A drawing may have no size of its own.
            if (mediaType !== 'image/svg+xml') setSize(`${naturalWidth} × ${naturalHeight}`);
          }}
        />
      )}
    </figure>
  );
}
