import { type KeyboardEvent, useId, useState } from 'react';
import type { Suggestion } from '../api/use-suggestions.ts';
import css from './messages.module.css';

interface CompletionsInput {
  /** What is completed; another one begins at its first suggestion, and opens a list that was closed. */
  asked: string;
  found: readonly Suggestion[];
  choose: (suggestion: Suggestion) => void;
}

/** What was typed may become one of these: the list, and the keys that choose from it while the text box has the focus. */
export function useCompletions({ asked, found: all, choose }: CompletionsInput) {
  const listId = useId();
  const [marked, setMarked] = useState({ asked, place: 0 });
  const [closed, setClosed] = useState<string | null>(null);
  const found = closed === asked ? [] : all;
  const place = marked.asked === asked ? marked.place : 0;
  const current = Math.min(place, Math.max(found.length - 1, 0));
  const isOpen = found.length > 0;
  const optionId = (index: number) => `${listId}-${index}`;
  const mark = (next: number) => setMarked({ asked, place: next });

  /** Whether the key was meant for the list. */
  function onKeyDown(event: KeyboardEvent): boolean {
    const suggestion = found[current];
    if (suggestion === undefined || event.nativeEvent.isComposing) return false;
    if (event.key === 'ArrowDown') mark((current + 1) % found.length);
    else if (event.key === 'ArrowUp') mark((current + found.length - 1) % found.length);
    else if (event.key === 'Escape') setClosed(asked);
    else if (event.key === 'Tab' || (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && !event.shiftKey))
      choose(suggestion);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  return {
    found,
    current,
    listId,
    optionId,
    choose,
    onKeyDown,
    isClosed: closed === asked,
    aria: {
      'aria-autocomplete': 'list' as const,
      ...(isOpen && { 'aria-controls': listId, 'aria-activedescendant': optionId(current) }),
    },
  };
}

interface CompletionListProps {
  completions: ReturnType<typeof useCompletions>;
  label: string;
  note: string | null;
}

export function CompletionList({ completions: list, label, note }: CompletionListProps) {
  if (list.found.length === 0 && (note === null || list.isClosed)) return null;
  return (
    <div className={css.completions}>
      {list.found.length > 0 && (
        <div role="listbox" id={list.listId} aria-label={label}>
          {list.found.map((suggestion, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the text box has the focus and its keys
            <div
              key={suggestion.value}
              role="option"
              id={list.optionId(index)}
              ref={index === list.current ? showMarked : null}
              aria-selected={index === list.current}
              tabIndex={-1}
              className={css.completion}
              title={`${suggestion.value} ${suggestion.hint}\n${suggestion.does}`}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => list.choose(suggestion)}
            >
              <code>
                {suggestion.shown}
                {suggestion.hint !== '' && <i> {suggestion.hint}</i>}
              </code>
              <span>{suggestion.does}</span>
            </div>
          ))}
        </div>
      )}
      {note !== null && <p role="status">{note}</p>}
    </div>
  );
}

const showMarked = (option: HTMLElement | null) => option?.scrollIntoView({ block: 'nearest' });
