import { visibleText } from '@callboard/contract';
import { ActionIcon, Button, Textarea } from '@mantine/core';
import { IconMessagePlus, IconX } from '@tabler/icons-react';
import { type RefObject, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { Markdown } from '../../../ui/markdown.tsx';
import { planBlocks, quoteOf, withBegun } from '../model/plan-comments.ts';
import type { BegunComment, PlanComment, RequestDraft } from '../model/request-drafts.ts';
import css from './plan.module.css';

interface PlanDocumentProps {
  plan: string;
  comments: readonly PlanComment[];
  /** The comment that is being written. */
  begun: BegunComment | null;
  disabled: boolean;
  change: (draft: Partial<Pick<RequestDraft, 'comments' | 'begun'>>) => void;
}

/** The subject of a new comment: a paragraph, or words selected in it. */
type Target = Omit<BegunComment, 'text'>;

/** A plan as a document. A person can comment on every paragraph and every selection. */
export function PlanDocument({ plan, comments, begun, disabled, change }: PlanDocumentProps) {
  const blocks = useMemo(() => planBlocks(plan), [plan]);
  const [opened, setOpened] = useState<Target | null>(null);
  const target = begun ?? opened;
  const box = useRef<HTMLDivElement>(null);
  const selected = useSelectedText(box);
  const begin = (next: Target) => {
    // Keeps the text written about something else.
    if (begun !== null) change({ comments: withBegun(comments, begun), begun: null });
    setOpened(next);
  };
  const write = (text: string) => {
    if (target === null) return;
    setOpened(target);
    change({ begun: text.trim() === '' ? null : { block: target.block, quote: target.quote, text } });
  };
  const close = (saved: PlanComment[] = [...comments]) => {
    if (begun !== null) change({ comments: saved, begun: null });
    setOpened(null);
  };
  return (
    <div className={css.plan} ref={box}>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: paragraphs are identified by their position only
        <div key={index} className={css.block} data-block={index}>
          <div className={css.row}>
            <Markdown text={block} />
            <ActionIcon
              variant="subtle"
              color="gray"
              size={28}
              disabled={disabled}
              aria-label={`Comment on: ${visibleText(quoteOf(block), 'prose')}`}
              title="Comment"
              onClick={() => begin({ block: index, quote: quoteOf(block) })}
            >
              <IconMessagePlus size={16} aria-hidden />
            </ActionIcon>
          </div>
          <Chips
            comments={comments.filter((comment) => comment.block === index)}
            disabled={disabled}
            remove={(id) => change({ comments: comments.filter((comment) => comment.id !== id) })}
          />
          {target?.block === index && (
            <Composer
              key={target.quote}
              quote={target.quote}
              text={begun?.text ?? ''}
              isAsked={opened !== null}
              disabled={disabled}
              write={write}
              add={() => close(withBegun(comments, begun))}
              cancel={() => close()}
            />
          )}
        </div>
      ))}
      {selected !== null && target === null && !disabled && (
        <div className={css.selection}>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconMessagePlus size={16} aria-hidden />}
            // The press must not clear the selection before the click.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => begin(selected)}
          >
            Comment on the selection
          </Button>
        </div>
      )}
    </div>
  );
}

/** Returns the words selected within one paragraph of the plan. */
function useSelectedText(box: RefObject<HTMLElement | null>): Target | null {
  const [selected, setSelected] = useState<Target | null>(null);
  useEffect(() => {
    const read = () => setSelected(selectionIn(box.current));
    document.addEventListener('selectionchange', read);
    return () => document.removeEventListener('selectionchange', read);
  }, [box]);
  return selected;
}

function selectionIn(box: HTMLElement | null): Target | null {
  const selection = document.getSelection();
  const quote = selection?.toString().trim() ?? '';
  const start = selection?.anchorNode?.parentElement?.closest<HTMLElement>('[data-block]');
  if (quote === '' || start == null || box?.contains(start) !== true) return null;
  return { block: Number(start.dataset.block), quote: quote.slice(0, 1_000) };
}

interface ChipsProps {
  comments: readonly PlanComment[];
  disabled: boolean;
  remove: (id: string) => void;
}

function Chips({ comments, disabled, remove }: ChipsProps) {
  if (comments.length === 0) return null;
  return (
    <ul className={css.chips} aria-label="Comments">
      {comments.map(({ id, quote, text }) => (
        <li key={id} className={css.chip}>
          <div>
            <q className={css.quote}>{quote}</q>
            <p>{text}</p>
          </div>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={24}
            disabled={disabled}
            aria-label={`Remove comment: ${text}`}
            onClick={() => remove(id)}
          >
            <IconX size={14} aria-hidden />
          </ActionIcon>
        </li>
      ))}
    </ul>
  );
}

interface ComposerProps {
  quote: string;
  text: string;
  /** Whether a person opened it just now, so that it takes the focus; false for a restored draft. */
  isAsked: boolean;
  disabled: boolean;
  write: (text: string) => void;
  add: () => void;
  cancel: () => void;
}

function Composer({ quote, text, isAsked, disabled, write, add, cancel }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const focus = useEffectEvent(() => {
    if (isAsked) field.current?.focus();
  });
  useEffect(() => focus(), []);
  const isEmpty = text.trim() === '';
  return (
    <div className={css.composer}>
      <q className={css.quote}>{quote}</q>
      <Textarea
        ref={field}
        aria-label="Comment"
        placeholder="What should change here"
        autosize
        minRows={1}
        maxRows={6}
        value={text}
        disabled={disabled}
        // Escape closes only an empty comment. With text in it, Escape sets the overlay aside and keeps the text.
        data-mantine-stop-propagation={isEmpty}
        onChange={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            event.stopPropagation();
            if (isEmpty) cancel();
          } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !isEmpty) add();
        }}
      />
      <div className={css.composerButtons}>
        <Button variant="subtle" color="gray" size="compact-sm" disabled={disabled} onClick={cancel}>
          Cancel
        </Button>
        <Button variant="default" size="compact-sm" disabled={isEmpty || disabled} onClick={add}>
          Add comment
        </Button>
      </div>
    </div>
  );
}
