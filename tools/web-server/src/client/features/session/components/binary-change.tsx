import type { FileContent, FileDiff, StageDiff, StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sizeWords } from '../../../lib/format.ts';
import { contentQuery } from '../api/stage-diff.ts';
import css from './binary-change.module.css';

interface BinaryChangeProps {
  stageId: StageId;
  diff: StageDiff;
  file: FileDiff;
}

/** A file without lines: an image before and after, or only how large it was and is. */
export function BinaryChange({ stageId, diff, file }: BinaryChangeProps) {
  const { data } = useQuery(contentQuery(stageId, diff, file));
  const hasBefore = file.status !== 'added';
  const hasAfter = file.status !== 'deleted';
  return (
    <div className={css.sides}>
      {hasBefore && <Content title="Before" content={data?.before ?? null} />}
      {hasAfter && <Content title={hasBefore ? 'After' : 'Added'} content={data?.after ?? null} />}
    </div>
  );
}

function Content({ title, content }: { title: string; content: FileContent | null }) {
  const [size, setSize] = useState<string | null>(null);
  const facts = content === null ? [] : [...(size === null ? [] : [size]), sizeWords(content.bytes)];
  return (
    <figure className={css.side}>
      <figcaption>
        {title} <span className={css.facts}>{facts.join(', ')}</span>
      </figcaption>
      {content !== null && content.mediaType !== null && content.dataBase64 !== null && (
        <img
          src={`data:${content.mediaType};base64,${content.dataBase64}`}
          alt={title}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setSize(`${naturalWidth} × ${naturalHeight}`)}
        />
      )}
    </figure>
  );
}
