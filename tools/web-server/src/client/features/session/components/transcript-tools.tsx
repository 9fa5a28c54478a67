import type { StageView } from '@callboard/contract';
import { ActionIcon } from '@mantine/core';
import { IconFold, IconSearch } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { transcriptQuery } from '../../../data/queries.ts';
import { foldKeys } from '../model/find-in-items.ts';
import { useSessionUi } from '../model/session-ui.ts';
import { useTranscriptFind } from '../model/transcript-find.ts';
import { transcriptItems } from '../model/transcript-items.ts';
import css from './stage-head.module.css';

/** Finds in the transcript, and folds all of it. */
export function TranscriptTools({ stage }: { stage: StageView }) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const foldAll = () => {
    const entries = cache.getQueryData(transcriptQuery(stage.id).queryKey)?.entries ?? [];
    useSessionUi.getState().fold(foldKeys(transcriptItems(entries)));
  };
  const find = () => {
    const isShown = document.querySelector('section[aria-label="Transcript"]') !== null;
    if (!isShown) void navigate(`/stages/${stage.id}`);
    useTranscriptFind.getState().start(stage.id);
  };
  return (
    <div className={css.tools}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Find in transcript"
        title="Find in transcript (/)"
        onClick={find}
      >
        <IconSearch size={16} />
      </ActionIcon>
      <ActionIcon variant="subtle" color="gray" aria-label="Fold all" title="Fold all" onClick={foldAll}>
        <IconFold size={16} />
      </ActionIcon>
    </div>
  );
}
