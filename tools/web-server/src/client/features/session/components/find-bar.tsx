import { ActionIcon, TextInput } from '@mantine/core';
import { IconChevronDown, IconChevronUp, IconSearch, IconX } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import { isComposing } from '../../../lib/is-composing.ts';
import { useTranscriptFind } from '../model/transcript-find.ts';
import css from './find-bar.module.css';
import { focusTranscript } from './stage-keys.ts';
import type { Find } from './use-find.ts';

/** Finds a text in the transcript: Enter goes to the next one, Escape ends it. */
export function FindBar({ find }: { find: Find }) {
  const field = useRef<HTMLInputElement>(null);
  const { setText, close } = useTranscriptFind.getState();
  const times = useTranscriptFind((state) => state.open?.times);
  // biome-ignore lint/correctness/useExhaustiveDependencies: also when it is asked for again
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [times]);
  const end = () => {
    close();
    focusTranscript();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !isComposing(event.nativeEvent)) find.move(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape') end();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <search className={css.bar}>
      <TextInput
        ref={field}
        className={css.field}
        size="xs"
        aria-label="Find in transcript"
        placeholder="Find in transcript"
        leftSection={<IconSearch size={14} />}
        value={find.text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <span className={css.count} role="status">
        {countText(find)}
      </span>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Previous"
        title="Previous (Shift Enter)"
        onClick={() => find.move(-1)}
        disabled={find.count === 0}
      >
        <IconChevronUp size={16} />
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Next"
        title="Next (Enter)"
        onClick={() => find.move(1)}
        disabled={find.count === 0}
      >
        <IconChevronDown size={16} />
      </ActionIcon>
      <ActionIcon variant="subtle" color="gray" aria-label="Close find" title="Close (Esc)" onClick={end}>
        <IconX size={16} />
      </ActionIcon>
    </search>
  );
}

function countText({ text, count, at, isLoading }: Find): string {
  if (text.trim() === '') return '';
  const more = isLoading ? ', reading earlier entries…' : '';
  if (count === 0) return isLoading ? 'Reading earlier entries…' : 'No results';
  return `${at === 0 ? count : `${at} of ${count.toLocaleString()}`}${more}`;
}
