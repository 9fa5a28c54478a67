import { type PendingRequest, PermissionMode, visibleText } from '@callboard/contract';
import { ActionIcon, Button, Flex, Group, NativeSelect, Textarea } from '@mantine/core';
import { IconMessagePlus, IconX } from '@tabler/icons-react';
import { type RefObject, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { count } from '../../lib/format.ts';
import { modeLabel } from '../../lib/stage-options.ts';
import { field } from '../../lib/tool-text.ts';
import { Markdown } from '../../ui/markdown.tsx';
import { Hint, Panel } from '../../ui/primitives.tsx';
import planStyles from './plan.module.css';
import css from './request.module.css';
import { type BegunComment, type PlanComment, type RequestDraft, useDraft } from './request-drafts.ts';
import type { FormProps } from './use-request.ts';
import { RequestMeta, VerdictActions } from './verdict-actions.tsx';

const MODES: readonly { value: PermissionMode; label: string }[] = [
  { value: 'default', label: 'Then ask for each edit' },
  { value: 'acceptEdits', label: 'Then edit freely' },
];

/** Claude Code takes no other mode in an answer. */
const NextMode = PermissionMode.exclude(['plan', 'bypassPermissions']);

/** The modes that can follow a plan. The one that the stage worked in before comes first, by its name. */
function nextModes({ modeBefore }: Pick<PendingRequest, 'modeBefore'>): typeof MODES {
  const before = NextMode.safeParse(modeBefore).data;
  if (before === undefined) return MODES;
  const others = MODES.filter(({ value }) => value !== before);
  return [{ value: before, label: `As before: ${modeLabel(before)}` }, ...others];
}

/** A plan to accept, as a document with comments. Accepting always names the mode that follows. */
export function PlanBody({ request, approve }: FormProps) {
  const [{ mode: chosen, comments, begun }, change] = useDraft(request);
  const modes = nextModes(request);
  const mode = chosen ?? modes[0]?.value ?? 'default';
  const sent = approve.isPending || approve.isSuccess;
  const plan = field(request.input, 'plan');
  const remarks = withBegun(comments, begun);
  const counted = remarks.length === 0 ? [] : [count(remarks.length, 'comment')];
  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        {plan.trim() === '' ? (
          <Hint>No plan text.</Hint>
        ) : (
          <PlanDocument plan={plan} comments={comments} begun={begun} disabled={sent} change={change} />
        )}
      </div>
      <VerdictActions
        request={request}
        approve={approve}
        caption={counted.length === 0 ? undefined : `${counted.join('')} to send back`}
        beside={
          <NativeSelect
            className={css.nextMode}
            aria-label="Once accepted"
            title="Once accepted"
            data={[...modes]}
            value={mode}
            disabled={sent}
            onChange={(event) => change({ mode: PermissionMode.parse(event.currentTarget.value) })}
          />
        }
        reasonLabel="What should change?"
        yes="Accept plan"
        no="Send back"
        reasonToSend={(typed) => sendBackReason(remarks, typed)}
        leftOut={counted}
        allowWith={{ updatedPermissions: [{ type: 'setMode', mode, destination: 'session' }] }}
      />
    </>
  );
}

/** Splits a plan into paragraphs, lists, headings and code blocks, so that each can be commented on. */
export function planBlocks(plan: string): string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  let fence: string | null = null;
  const close = () => {
    if (lines.length > 0) blocks.push(lines.join('\n'));
    lines = [];
  };
  for (const line of plan.split('\n')) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? null;
    if (fence !== null) {
      lines.push(line);
      if (mark?.startsWith(fence)) fence = null;
    } else if (mark !== null) {
      fence = mark;
      lines.push(line);
    } else if (line.trim() === '') {
      close();
    } else if (/^#{1,6}\s/.test(line)) {
      close();
      blocks.push(line);
    } else if (lines.length > 0 || !/^\s+\S/.test(line) || blocks.length === 0) {
      lines.push(line);
    } else {
      // An indented line after an empty one continues the list before it.
      lines = [blocks.pop() ?? '', '', line];
    }
  }
  close();
  return blocks;
}

/** Returns the first line of a block without its Markdown: the quote above a comment. */
export function quoteOf(block: string): string {
  const line = block.split('\n').find((one) => one.trim() !== '' && !/^\s*(`{3,}|~{3,})/.test(one)) ?? '';
  const bare = line.replace(/^\s*(?:#{1,6}|[-*+]|\d+[.)]|>)\s+/, '').replaceAll(/[*_`]/g, '');
  return bare.length <= 120 ? bare : `${bare.slice(0, 119)}…`;
}

/** Returns the text that Claude reads when a plan is sent back: each comment under its quote, then the reason. */
export function sendBackReason(comments: readonly PlanComment[], reason: string): string {
  const remarks = comments.map(({ quote, text }) => `${quoted(quote)}\n${text.trim()}`);
  return [...remarks, reason.trim()].filter((part) => part !== '').join('\n\n');
}

const quoted = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');

/** Returns all comments, including one that was started but not added, so that no written text is lost. */
export function withBegun(comments: readonly PlanComment[], begun: BegunComment | null): PlanComment[] {
  if (begun === null) return [...comments];
  return [...comments, { ...begun, text: begun.text.trim(), id: `${Date.now()}-${comments.length}` }];
}

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
function PlanDocument({ plan, comments, begun, disabled, change }: PlanDocumentProps) {
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
    <div className={planStyles.plan} ref={box}>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: paragraphs are identified by their position only
        <div key={index} className={planStyles.block} data-block={index}>
          <div className={planStyles.row}>
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
        <div className={planStyles.selection}>
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
    <Flex component="ul" direction="column" gap="xs" mt="xs" mr={36} mb="sm" aria-label="Comments">
      {comments.map(({ id, quote, text }) => (
        <Flex
          key={id}
          component="li"
          className={planStyles.chip}
          gap="sm"
          justify="space-between"
          align="flex-start"
          bg="var(--accent-soft)"
          p="4px 4px 4px 12px"
        >
          <div>
            <Hint component="q" truncate display="block">
              {quote}
            </Hint>
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
        </Flex>
      ))}
    </Flex>
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
    <Panel mt="xs" mr={36} mb="md">
      <Hint component="q" truncate display="block">
        {quote}
      </Hint>
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
      <Group justify="flex-end">
        <Button variant="subtle" color="gray" size="compact-sm" disabled={disabled} onClick={cancel}>
          Cancel
        </Button>
        <Button variant="default" size="compact-sm" disabled={isEmpty || disabled} onClick={add}>
          Add comment
        </Button>
      </Group>
    </Panel>
  );
}
