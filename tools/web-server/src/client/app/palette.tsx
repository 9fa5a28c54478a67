import { Modal } from '@mantine/core';
import { IconChevronRight, IconSearch } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { isComposing } from '../lib/is-composing.ts';
import { useCoversPage } from '../ui/dialog-layers.ts';
import { closeFrameUi } from './frame-store.ts';
import css from './palette.module.css';
import { type PaletteEntry, useActionEntries, usePageEntries, useStageEntries } from './palette-entries.tsx';
import { type Found, findEntries } from './palette-model.ts';
import { useRecent } from './palette-recent.ts';
import { useFoundTexts } from './palette-search.tsx';

/** Finds stages, pages and actions by a few letters. A chosen stage shows what can be done with it. */
export default function Palette({ opened }: { opened: boolean }) {
  useCoversPage(opened);
  return (
    <Modal.Root opened={opened} onClose={closeFrameUi} size={600} yOffset={80} transitionProps={{ duration: 100 }}>
      <Modal.Overlay backgroundOpacity={0.4} />
      <Modal.Content classNames={{ content: css.content }} aria-label="Search or command">
        <PaletteBody />
      </Modal.Content>
    </Modal.Root>
  );
}

function PaletteBody() {
  const [query, setQuery] = useState('');
  /** The stage whose actions are shown. */
  const [under, setUnder] = useState<PaletteEntry | null>(null);
  const [selected, setSelected] = useState(0);
  const { recent, remember } = useRecent();
  const pages = usePageEntries();
  const stages = useStageEntries();
  const actions = useActionEntries(under?.stageId ?? null);
  const texts = useFoundTexts(under === null ? query : '');
  const found = [
    ...findEntries(under === null ? [...pages, ...stages] : actions, query, under === null ? recent : []),
    ...texts.found,
  ];
  const entries = found.flatMap((group) => group.entries);
  const listId = useId();
  const go = (to: PaletteEntry | null) => {
    setUnder(to);
    setQuery('');
    setSelected(0);
  };
  const choose = (entry: PaletteEntry | undefined) => {
    if (entry === undefined) return;
    if (!texts.isResult(entry)) remember(under?.id ?? entry.id);
    if (entry.act === null) return go(entry);
    // What is chosen may open something else over the page.
    closeFrameUi();
    entry.act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setSelected((selected + step + entries.length) % Math.max(entries.length, 1));
    else if (event.key === 'Enter' && !event.repeat) choose(entries[selected]);
    else if (event.key === 'Backspace' && query === '' && under !== null) go(null);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className={css.search}>
        <IconSearch size={18} stroke={1.75} aria-hidden />
        {under !== null && (
          <button type="button" className={css.under} title="Back (Backspace)" onClick={() => go(null)}>
            {under.label}
          </button>
        )}
        <input
          className={css.input}
          role="combobox"
          aria-label="Search or command"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={entries.length === 0 ? undefined : `${listId}-${selected}`}
          autoComplete="off"
          spellCheck={false}
          placeholder={under === null ? 'Search stages, transcripts, pages and actions' : 'Choose an action'}
          value={query}
          data-autofocus
          onChange={(event) => {
            setQuery(event.currentTarget.value);
            setSelected(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <Results
        listId={listId}
        found={found}
        selected={selected}
        choose={choose}
        select={setSelected}
        none={texts.none}
      />
      {texts.note !== null && <p className={css.note}>{texts.note}</p>}
    </>
  );
}

interface ResultsProps {
  listId: string;
  found: readonly Found<PaletteEntry>[];
  selected: number;
  select: (index: number) => void;
  choose: (entry: PaletteEntry) => void;
  /** What an empty list says. */
  none: string;
}

function Results({ listId, found, selected, select, choose, none }: ResultsProps) {
  let index = -1;
  return (
    <div className={css.results} role="listbox" id={listId} aria-label="Results">
      {found.map(({ title, entries }) => (
        // biome-ignore lint/a11y/useSemanticElements: a group within a listbox
        <div key={title ?? ''} role="group" aria-label={title ?? 'Results'}>
          {title !== null && (
            <div className={css.title} aria-hidden>
              {title}
            </div>
          )}
          {entries.map((entry) => {
            index += 1;
            const own = index;
            return (
              <Option
                key={entry.id}
                id={`${listId}-${own}`}
                entry={entry}
                isSelected={own === selected}
                select={() => select(own)}
                choose={() => choose(entry)}
              />
            );
          })}
        </div>
      ))}
      {found.length === 0 && <p className={css.none}>{none}</p>}
    </div>
  );
}

interface OptionProps {
  id: string;
  entry: PaletteEntry;
  isSelected: boolean;
  select: () => void;
  choose: () => void;
}

/** A row. The keys belong to the field, which keeps the focus. */
function Option({ id, entry, isSelected, select, choose }: OptionProps) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isSelected) row.current?.scrollIntoView({ block: 'nearest' });
  }, [isSelected]);
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus and names this option
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
    <div
      ref={row}
      id={id}
      className={css.option}
      role="option"
      aria-selected={isSelected}
      onPointerMove={isSelected ? undefined : select}
      onMouseDown={(event) => event.preventDefault()}
      onClick={choose}
    >
      <span className={css.icon}>{entry.icon}</span>
      <span className={css.label}>{entry.shown ?? entry.label}</span>
      {entry.hint !== null && <span className={css.hint}>{entry.hint}</span>}
      {entry.keys !== null && <kbd className={css.keys}>{entry.keys.join(' ')}</kbd>}
      {entry.act === null && <IconChevronRight className={css.more} size={14} aria-hidden />}
    </div>
  );
}
