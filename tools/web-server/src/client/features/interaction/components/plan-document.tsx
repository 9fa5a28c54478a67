import { ActionIcon, Button, Textarea } from '@mantine/core';
import { IconMessagePlus, IconX } from '@tabler/icons-react';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { Markdown } from '../../../ui/markdown.tsx';
import type { PlanComment } from '../model/drafts.ts';
import { planBlocks, quoteOf } from '../model/plan-comments.ts';
import css from './plan.module.css';

interface PlanDocumentProps {
  plan: string;
  comments: readonly PlanComment[];
  disabled: boolean;
  change: (comments: PlanComment[]) => void;
}

/** What a comment is begun on: a paragraph, or words selected in it. */
interface Target {
  block: number;
  quote: string;
}

/** A plan as a document; every paragraph, and every selection, can be commented on. */
export function PlanDocument({ plan, comments, disabled, change }: PlanDocumentProps) {
  const blocks = useMemo(() => planBlocks(plan), [plan]);
  const [target, setTarget] = useState<Target | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const selected = useSelectedWords(box);
  const add = (text: string) => {
    if (target !== null) change([...comments, { ...target, text, id: `${Date.now()}-${comments.length}` }]);
    setTarget(null);
  };
  return (
    <div className={css.plan} ref={box}>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: paragraphs have no identity but their place
        <div key={index} className={css.block} data-block={index}>
          <div className={css.row}>
            <Markdown text={block} />
            <ActionIcon
              variant="subtle"
              color="gray"
              size={28}
              disabled={disabled}
              aria-label={`Comment on: ${quoteOf(block)}`}
              title="Comment"
              onClick={() => setTarget({ block: index, quote: quoteOf(block) })}
            >
              <IconMessagePlus size={16} aria-hidden />
            </ActionIcon>
          </div>
          <Chips
            comments={comments.filter((comment) => comment.block === index)}
            disabled={disabled}
            remove={(id) => change(comments.filter((comment) => comment.id !== id))}
          />
          {target?.block === index && <Composer quote={target.quote} add={add} cancel={() => setTarget(null)} />}
        </div>
      ))}
      {selected !== null && target === null && !disabled && (
        <div className={css.selection}>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconMessagePlus size={16} aria-hidden />}
            // The press must not take the selection away before the click.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => setTarget(selected)}
          >
            Comment on the selection
          </Button>
        </div>
      )}
    </div>
  );
}

/** The words that are selected within one paragraph of the plan. */
function useSelectedWords(box: RefObject<HTMLElement | null>): Target | null {
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
  add: (text: string) => void;
  cancel: () => void;
}

function Composer({ quote, add, cancel }: ComposerProps) {
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
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
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            event.stopPropagation();
            cancel();
          } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !isEmpty) add(text.trim());
        }}
      />
      <div className={css.composerButtons}>
        <Button variant="subtle" color="gray" size="compact-sm" onClick={cancel}>
          Cancel
        </Button>
        <Button variant="default" size="compact-sm" disabled={isEmpty} onClick={() => add(text.trim())}>
          Add comment
        </Button>
      </div>
    </div>
  );
}
