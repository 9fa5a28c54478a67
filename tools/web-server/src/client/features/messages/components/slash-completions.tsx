import { type KeyboardEvent, useId, useState } from 'react';
import { completions } from '../model/slash-commands.ts';
import css from './messages.module.css';

/** The commands that what was typed may become, and the keys that choose among them. */
export function useCompletions(text: string, choose: (command: string) => void) {
  const listId = useId();
  const [place, setPlace] = useState(0);
  const [closedAt, setClosedAt] = useState<string | null>(null);
  const found = closedAt === text ? [] : completions(text);
  const current = Math.min(place, Math.max(found.length - 1, 0));
  const isOpen = found.length > 0;
  const optionId = (index: number) => `${listId}-${index}`;

  /** Whether the key was meant for the list. */
  function onKeyDown(event: KeyboardEvent): boolean {
    const command = found[current];
    if (command === undefined || event.nativeEvent.isComposing) return false;
    if (event.key === 'ArrowDown') setPlace((current + 1) % found.length);
    else if (event.key === 'ArrowUp') setPlace((current + found.length - 1) % found.length);
    else if (event.key === 'Escape') setClosedAt(text);
    else if (event.key === 'Tab' || (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && !event.shiftKey))
      choose(command.name);
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
    aria: {
      'aria-autocomplete': 'list' as const,
      ...(isOpen && { 'aria-controls': listId, 'aria-activedescendant': optionId(current) }),
    },
  };
}

export function CompletionList({ completions: list }: { completions: ReturnType<typeof useCompletions> }) {
  if (list.found.length === 0) return null;
  return (
    <div className={css.completions} role="listbox" id={list.listId} aria-label="Commands">
      {list.found.map((command, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the text box has the focus and its keys
        <div
          key={command.name}
          role="option"
          id={list.optionId(index)}
          aria-selected={index === list.current}
          tabIndex={-1}
          className={css.completion}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => list.choose(command.name)}
        >
          <code>{command.name}</code>
          <span>{command.does}</span>
        </div>
      ))}
    </div>
  );
}
