import type { StageId, TranscriptEntry } from '@callboard/contract';
import { memo } from 'react';
import { type LiveBlock, useLiveText } from '../../../stream/stream-context.tsx';
import { useOpen } from '../model/session-ui.ts';
import { blockKey } from '../model/transcript-items.ts';
import { ClaudeText } from './item-view.tsx';
import { ThoughtFold } from './thought-fold.tsx';

interface TextRowProps {
  stageId: StageId;
  blockId: string;
  /** Null while the text is being written. */
  entry: Extract<TranscriptEntry, { kind: 'text' }> | null;
}

/** A text of Claude's, from its first word on: once it is stored, what is on screen stays. */
export const TextRow = memo(function TextRow({ stageId, blockId, entry }: TextRowProps) {
  const live = useLiveText(stageId, blockId);
  return <ClaudeText text={entry?.text ?? live} at={entry?.at ?? null} isLive={entry === null} />;
});

/** A thought that is being written. */
export function LiveThought({ stageId, block }: { stageId: StageId; block: LiveBlock }) {
  const id = blockKey(block.blockId);
  const [isOpen] = useOpen(id, false);
  return (
    <ThoughtFold id={id} isLive>
      {isOpen && <LiveText stageId={stageId} blockId={block.blockId} />}
    </ThoughtFold>
  );
}

function LiveText({ stageId, blockId }: { stageId: StageId; blockId: string }) {
  return useLiveText(stageId, blockId);
}
