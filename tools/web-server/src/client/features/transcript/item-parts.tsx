import {
  type AttachedFile as AttachedFileInfo,
  type Decision,
  type PendingRequest,
  questionsOf,
  type RewindRecord,
  StageId,
  type StageView,
  type TranscriptEntry,
  visibleText,
} from '@callboard/contract';
import { Button, Flex, Group, Stack, Tooltip } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { createContext, type ReactNode, use, useId, useMemo } from 'react';
import { useSearchParams } from 'react-router';
import { attachmentQuery, boardQuery, stageOf, usePersonText } from '../../data/queries.ts';
import { useUndoRewind } from '../../data/rewind.ts';
import { type DeniedCall, denialRetryQuery, useRetryDenial } from '../../data/stage-commands.ts';
import { retryDoes } from '../../lib/denial-text.ts';
import { clockTime, count, exactTime } from '../../lib/format.ts';
import { useOpen, useSessionUi } from '../../lib/session-ui.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { AttachedFile, FileList, isImage } from '../../ui/attached-files.tsx';
import { Hint, RowButton } from '../../ui/primitives.tsx';
import { StableButton } from '../../ui/stable-button.tsx';
import head from '../../ui/stage-head.module.css';
import { exactOnHover, TimeSince } from '../../ui/text.tsx';
import { ToolInputView } from '../../ui/tool-input.tsx';
import { answerText, asReadBy, decisionText, deliveryText, isChanged } from '../approvals/kinds/decision-text.ts';
import { requestKinds } from '../approvals/kinds/registry.ts';
import css from './transcript.module.css';
import { type GrowingItems, itemKey, type TranscriptItem } from './transcript-items.ts';

interface DecisionLineProps {
  decision: Decision;
  /** The input of the call. */
  asked?: unknown;
}

/** A decision, and below what Claude Code denied itself what can be done about that. */
export function DecisionLine(props: DecisionLineProps) {
  return (
    <>
      <Decided {...props} />
      {props.decision.denial !== null && <DeniedCallLine decision={props.decision} />}
    </>
  );
}

/** A decision on one line. One with a reason, answers or a changed input can be opened. */
function Decided({ decision, asked }: DecisionLineProps) {
  const { folder } = useTranscriptDeps();
  const { data: me = '' } = useQuery({ ...boardQuery, select: (view) => view.me.name });
  const delivery = deliveryText(decision);
  const answered = answerText(decision, questionsOf(asked));
  const text = (
    <span title={exactTime(decision.at)}>
      {answered !== null && <strong>{answered}</strong>}
      {answered !== null && ' · '}
      {requestKinds[decision.kind].namesSubject && `${visibleText(decision.asked, 'command')} · `}
      {decisionText(asReadBy(me, decision))}
      {delivery !== null && ` (${delivery})`}
    </span>
  );
  const answers = Object.entries(decision.answers ?? {});
  const ran = isChanged(decision) ? decision.updatedInput : null;
  if (decision.reason === null && answers.length === 0 && ran === null) return <Hint component="div">{text}</Hint>;
  return (
    <Fold
      id={`decision:${decision.requestId}`}
      summary={text}
      openByItself={decision.outcome === 'denied' || ran !== null}
    >
      {ran !== null && <ToolInputView toolName={decision.toolName} input={ran} folder={folder} />}
      {decision.reason !== null && <p>{decision.reason}</p>}
      {answers.map(([question, answer]) => (
        <p key={question}>
          {question} <strong>{answer}</strong>
        </p>
      ))}
    </Fold>
  );
}

interface FoldProps {
  /** Unique among everything that can be opened. */
  id: string;
  summary: ReactNode;
  /** Whether it is open until somebody closes it. */
  openByItself?: boolean;
  children: ReactNode;
}

/** Content folded to one line. Its state is remembered while the page is open. */
export function Fold({ id, summary, openByItself = false, children }: FoldProps) {
  const [open, setOpen] = useOpen(id, openByItself);
  const bodyId = useId();
  return (
    <div>
      <button
        type="button"
        className={css.opener}
        aria-expanded={open}
        aria-controls={open ? bodyId : undefined}
        onClick={() => setOpen(!open)}
      >
        <IconChevronRight size={16} aria-hidden />
        {summary}
      </button>
      {open && (
        <div id={bodyId} className={clsx(css.opened, 'pre-wrap')}>
          {children}
        </div>
      )}
    </div>
  );
}

/** Allows the call that Claude Code denied last, in the head of its stage. */
export function RetryDenial({ stage }: { stage: StageView }) {
  const denied = openDenialOf(stage);
  return denied === null ? null : <RetryButton denied={denied} title={stage.title} />;
}

/** Why the call that was denied last cannot be allowed; nothing if it can. */
export function WhyNotRetried({ stage }: { stage: StageView }) {
  const denied = openDenialOf(stage);
  return denied === null ? null : <RefusalReason denied={denied} className={head.reason} />;
}

function openDenialOf({ id, session }: StageView): DeniedCall | null {
  const requestId = session?.openDenial?.requestId ?? null;
  return requestId === null ? null : { stageId: id, requestId };
}

/** Below a call that Claude Code denied: allows it after all, says why that cannot be, or who has done so. */
function DeniedCallLine({ decision }: { decision: Decision }) {
  const { stageId, requestId, settlement } = decision;
  const { data: title = stageId } = useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.title });
  const personText = usePersonText();
  if (settlement !== null)
    return (
      <Flex component="p" align="center" wrap="wrap" gap="4px 8px" mt="xs" c="dimmed" fz="row">
        {personText(settlement.by)} allowed it <TimeSince at={settlement.at} ago />; Claude was told to try again
      </Flex>
    );
  return (
    <Group gap="4px 8px" mt="xs" c="dimmed" fz="row">
      <RetryButton denied={{ stageId, requestId }} title={title} isSmall />
      <RefusalReason denied={{ stageId, requestId }} />
    </Group>
  );
}

function RetryButton({ denied, title, isSmall = false }: { denied: DeniedCall; title: string; isSmall?: boolean }) {
  const canCommand = useCanCommand();
  const { data } = useQuery(denialRetryQuery(denied));
  const retry = useRetryDenial(title);
  if (data === undefined || data.retry.whyNot !== null) return null;
  return (
    <Tooltip label={retryDoes(data.retry.rules)} multiline maw={360}>
      <StableButton
        {...(isSmall && { size: 'compact-sm', variant: 'default' })}
        disabled={!canCommand || retry.isSuccess}
        loading={retry.isPending}
        onClick={() => retry.mutate(denied)}
      >
        Allow and try again
      </StableButton>
    </Tooltip>
  );
}

function RefusalReason({ denied, className }: { denied: DeniedCall; className?: string | undefined }) {
  const refusalReason = useQuery(denialRetryQuery(denied)).data?.retry.whyNot ?? null;
  return refusalReason === null ? null : <p className={className}>{visibleText(refusalReason, 'prose')}</p>;
}

/** What the items of a transcript need from their page. */
export interface TranscriptParts {
  stageId: StageId;
  /** The times that a person went back, oldest first. */
  goneBack: readonly RewindRecord[];
  /** Whether what was taken back then is shown. */
  isOpen: (rewinds: RewindRecord) => boolean;
  /** The stage's worktree. Paths inside are shown relative to it. */
  folder: string | null;
  /** The forms of a tool call's open requests. */
  requestsOf: (toolUseId: string) => ReactNode;
  /** The tool call's open request, if any. */
  requestAt: (toolUseId: string) => PendingRequest | undefined;
}

const PartsContext = createContext<TranscriptParts>({
  stageId: StageId.parse('STAGE-0'),
  goneBack: [],
  isOpen: () => false,
  folder: null,
  requestsOf: () => null,
  requestAt: () => undefined,
});

export const TranscriptPartsProvider = PartsContext.Provider;
export const useTranscriptDeps = (): TranscriptParts => use(PartsContext);

const LINES = 40;
const CHARS = 2_000;

interface LongTextProps {
  /** Unique among everything that can be opened. */
  id: string;
  text: string;
  children: (shown: string) => ReactNode;
}

/** The beginning of a long text, and all of it on demand. */
export function LongText({ id, text, children }: LongTextProps) {
  const [isWhole, setWhole] = useOpen(`whole:${id}`, false);
  const beginning = cut(text);
  if (beginning === text) return children(text);
  return (
    <Stack gap="xs">
      {children(isWhole ? text : `${beginning} …`)}
      <Button
        w="fit-content"
        size="compact-xs"
        variant="subtle"
        aria-expanded={isWhole}
        onClick={() => setWhole(!isWhole)}
      >
        {isWhole ? 'Show less' : `Show all (${formatSize(text)})`}
      </Button>
    </Stack>
  );
}

function cut(text: string): string {
  const lines = text.split('\n');
  const byLines = lines.length > LINES * 1.5 ? lines.slice(0, LINES).join('\n') : text;
  return byLines.length > CHARS * 1.5 ? byLines.slice(0, CHARS) : byLines;
}

function formatSize(text: string): string {
  const lines = text.split('\n').length;
  return lines > LINES ? `${lines.toLocaleString()} lines` : `${text.length.toLocaleString()} characters`;
}

/** The items without what was taken back, unless somebody has opened it. A search, and a link to one of its entries, open it. */
export function useFolded(items: GrowingItems, rewinds: readonly RewindRecord[], isFinding: boolean) {
  const [params] = useSearchParams();
  const wanted = Number(params.get('entry') ?? Number.NaN);
  const open = useSessionUi(({ opened }) =>
    rewinds
      .filter((one) => isFinding || (opened[rewoundKey(one)] ?? (one.from <= wanted && wanted <= one.to)))
      .map(({ id }) => id)
      .join(' '),
  );
  return useMemo(() => {
    const ids = new Set(open.split(' '));
    return { items: foldRewound(items, rewinds, ({ id }) => ids.has(id)), openIds: ids };
  }, [items, rewinds, open]);
}

/** The line that opens and closes what was taken back. */
export function RewoundLine({ goneBack }: { goneBack: RewindRecord }) {
  const { at, by, from, to } = goneBack;
  const isOpen = useTranscriptDeps().isOpen(goneBack);
  return (
    <RowButton
      px={0}
      c="dimmed"
      aria-expanded={isOpen}
      onClick={() => useSessionUi.getState().setOpen(rewoundKey(goneBack), !isOpen)}
    >
      <IconChevronRight size={16} aria-hidden />
      <span>
        Taken back at{' '}
        <time dateTime={at} {...exactOnHover(at)}>
          {clockTime(at)}
        </time>{' '}
        by {by}
      </span>{' '}
      <Hint span size="xs" className="figures">
        {count(to - from + 1, 'entry', 'entries')}
      </Hint>
    </RowButton>
  );
}

/** Brings back what was before somebody went back; nothing once a message was sent. `index`: the notice that says so. */
export function UndoRewind({ index }: { index: number }) {
  const { goneBack, stageId } = useTranscriptDeps();
  const last = goneBack.at(-1);
  const undo = useUndoRewind(stageId);
  const canCommand = useCanCommand();
  if (last === undefined || !last.canUndo || index <= last.to) return null;
  return (
    <Button
      variant="default"
      size="compact-sm"
      mt={8}
      display="block"
      disabled={!canCommand}
      loading={undo.isPending}
      onClick={() => undo.mutate()}
    >
      Undo
    </Button>
  );
}

type Items = Pick<GrowingItems, 'items' | 'keys'>;

/** The key under which the line of what was taken back remembers whether it is open. */
const rewoundKey = ({ id }: RewindRecord): string => `taken-back:${id}`;

/**
 * The going back that took an entry back; null if it still counts. Of one within another the outer one, which is the later one:
 * nobody goes back to a message that was taken back.
 */
export const rewoundBy = (rewinds: readonly RewindRecord[], index: number): RewindRecord | null =>
  rewinds.findLast(({ conversation, from, to }) => conversation && from <= index && index <= to) ?? null;

/** Folds what was taken back into one line for each time, followed by the items themselves where it is open. */
export function foldRewound<T extends Items>(
  grown: T,
  rewinds: readonly RewindRecord[],
  isOpen: (one: RewindRecord) => boolean,
): T {
  if (!rewinds.some(({ conversation }) => conversation)) return grown;
  const items: TranscriptItem[] = [];
  const keys: string[] = [];
  const add = (item: TranscriptItem, key: string) => {
    items.push(item);
    keys.push(key);
  };
  let last: RewindRecord | null = null;
  for (const [at, item] of grown.items.entries()) {
    const by = rewoundBy(rewinds, locationOf(item));
    if (by !== null && by !== last) {
      const line: TranscriptItem = { kind: 'taken-back', goneBack: by };
      add(line, itemKey(line));
    }
    if (by === null || isOpen(by)) add(item, grown.keys[at] ?? itemKey(item));
    last = by;
  }
  return { ...grown, items, keys };
}

/** The index of an item's first entry. */
export function locationOf(item: TranscriptItem): number {
  switch (item.kind) {
    case 'entry':
      return item.entry.index;
    case 'tool':
      return item.use.index;
    case 'lookups':
      return item.tools[0]?.use.index ?? 0;
    case 'steps':
      return item.children[0] === undefined ? 0 : locationOf(item.children[0]);
    case 'taken-back':
      return item.goneBack.from;
    default:
      return item satisfies never;
  }
}

/** The files of a stage's first message: images as pictures, the others by name. */
export function PromptFiles({ stage }: { stage: Pick<StageView, 'id' | 'attachments'> }) {
  const { id, attachments } = stage;
  const others = attachments.filter((file) => !isImage(file));
  if (attachments.length === 0) return null;
  return (
    <Group align="flex-end" mt="sm">
      {attachments.filter(isImage).map((file) => (
        <Picture key={file.fileId} stageId={id} file={file} />
      ))}
      {others.length > 0 && (
        <FileList>
          {others.map((file) => (
            <AttachedFile key={file.fileId} file={file} content={null} />
          ))}
        </FileList>
      )}
    </Group>
  );
}

/** Its place is kept while it loads, so that nothing moves. */
function Picture({ stageId, file }: { stageId: StageView['id']; file: AttachedFileInfo }) {
  const { data } = useQuery(attachmentQuery(stageId, file.fileId));
  return (
    <span className={css.picture}>
      {data !== undefined && (
        <img src={`data:${data.mediaType};base64,${data.dataBase64}`} alt={file.name} title={file.name} />
      )}
    </span>
  );
}

/** The files of a message that was sent. Those of the first message are kept with the stage, so they can be shown. */
export function SentFiles({ entry }: { entry: Extract<TranscriptEntry, { kind: 'user' }> }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(entry.stageId) });
  const isFirst = stage !== undefined && stage.attachments.length > 0 && entry.text.startsWith(stage.prompt);
  if (isFirst) return <PromptFiles stage={stage} />;
  return (
    <Hint size="xs" mt="xs">
      With {entry.attachments.map((file) => file.name).join(', ')}
    </Hint>
  );
}
