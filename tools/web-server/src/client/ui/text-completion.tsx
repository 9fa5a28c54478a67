import { type ChangeEvent, type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from 'react';
import { type Completion, completionAt, type Suggestion, type Suggestions, withMention } from '../lib/completion.ts';
import { Hint } from './primitives.tsx';
import { isComposing } from './shortcuts.tsx';
import css from './text-completion.module.css';

interface TextCompletionInput<Location> {
  text: string;
  /** Whether anything is completed. */
  isOn: boolean;
  change: (text: string) => void;
  /** A command was chosen from the list. */
  commandChosen: () => void;
  /** A hook that finds what fits; null: nothing is typed that could be completed. */
  useSuggestions: (location: Location, asked: Completion | null) => Suggestions;
  /** Where the text will be read. */
  place: Location;
}

/** Completes commands and file paths at the caret of a text box: props of its field, its keys and its list. */
export function useTextCompletion<Location>(input: TextCompletionInput<Location>) {
  const { text, isOn, change, commandChosen, useSuggestions, place } = input;
  const { box, caret, caretMoved, put } = useCaret(text, change);
  const asked = isOn ? completionAt(text, caret) : null;
  const { found, note } = useSuggestions(place, asked);
  const completions = useCompletions({
    asked: asked === null ? '' : `${asked.kind} ${asked.typed}`,
    found,
    choose({ value }) {
      if (asked?.kind === 'file') put(withMention(text, asked, value));
      if (asked?.kind !== 'command') return;
      change(`/${value} `);
      commandChosen();
    },
  });
  return {
    field: {
      ref: box,
      ...completions.aria,
      onChange(event: ChangeEvent<HTMLTextAreaElement>) {
        change(event.currentTarget.value);
        caretMoved();
      },
      onSelect: caretMoved,
    },
    /** Returns whether the key was meant for the list. */
    onKeyDown: completions.onKeyDown,
    list: { completions, label: asked?.kind === 'file' ? 'Files' : 'Commands', note },
  };
}

/** The caret's place in the text box, and a way to set it together with a new text. */
function useCaret(text: string, change: (text: string) => void) {
  const box = useRef<HTMLTextAreaElement>(null);
  const wanted = useRef<number | null>(null);
  const [caret, setCaret] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the text it belongs to is in the box
  useLayoutEffect(() => {
    if (wanted.current !== null) box.current?.setSelectionRange(wanted.current, wanted.current);
    wanted.current = null;
  }, [text]);
  return {
    box,
    caret: Math.min(caret, text.length),
    caretMoved: () => setCaret(box.current?.selectionEnd ?? 0),
    put(next: { text: string; caret: number }) {
      wanted.current = next.caret;
      setCaret(next.caret);
      change(next.text);
    },
  };
}

interface CompletionsInput {
  /** What is completed. When it changes, the first suggestion is marked and a closed list opens again. */
  asked: string;
  found: readonly Suggestion[];
  choose: (suggestion: Suggestion) => void;
}

/** The list of suggestions, and the keys that choose from it while the text box has the focus. */
function useCompletions({ asked, found: all, choose }: CompletionsInput) {
  const listId = useId();
  const [marked, setMarked] = useState({ asked, place: 0 });
  const [closed, setClosed] = useState<string | null>(null);
  const found = closed === asked ? [] : all;
  const place = marked.asked === asked ? marked.place : 0;
  const current = Math.min(place, Math.max(found.length - 1, 0));
  const isOpen = found.length > 0;
  const optionId = (index: number) => `${listId}-${index}`;
  const mark = (next: number) => setMarked({ asked, place: next });

  /** Returns whether the key was meant for the list. */
  function onKeyDown(event: KeyboardEvent): boolean {
    const suggestion = found[current];
    if (suggestion === undefined || isComposing(event.nativeEvent)) return false;
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
              <code className="truncate">
                {suggestion.shown}
                {suggestion.hint !== '' && <i> {suggestion.hint}</i>}
              </code>
              <span className="truncate">{suggestion.does}</span>
            </div>
          ))}
        </div>
      )}
      {note !== null && (
        <Hint size="xs" p="4px 8px" role="status">
          {note}
        </Hint>
      )}
    </div>
  );
}

const showMarked = (option: HTMLElement | null) => option?.scrollIntoView({ block: 'nearest' });
