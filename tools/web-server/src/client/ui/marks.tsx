import type { RequestKind, SessionSummary, StageId } from '@callboard/contract';
import {
  IconFilePlus,
  IconForms,
  IconHelpCircle,
  IconListCheck,
  IconPencil,
  IconServer,
  IconServerOff,
  IconShieldCheck,
  IconShieldOff,
  IconTerminal2,
  IconTool,
  IconWorld,
} from '@tabler/icons-react';
import { isolationText, ranWithoutAsking } from '../lib/isolation-text.ts';
import css from './marks.module.css';

interface ProjectMarkProps {
  /** The project's name. */
  name: string;
  size?: number;
}

/** A project's small sign, in its own tint, stable by its name. Decorative: the name stands beside it or on hover of its row. */
export function ProjectMark({ name, size = 12 }: ProjectMarkProps) {
  const { shape, tint } = projectAppearance(name);
  return (
    <span className={css.mark} style={{ color: `var(--tint-${tint})` }} title={name} aria-hidden>
      <svg width={size} height={size} viewBox="0 0 12 12" fill="currentColor" aria-hidden>
        <path d={shape} fillRule="evenodd" />
      </svg>
    </span>
  );
}

/** A disc, a ring, a square, a frame, a diamond, a triangle, a cross and two bars, on 12 by 12. */
const SHAPES = [
  'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Z',
  'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Zm0 2.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6Z',
  'M2.5 1.5h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Z',
  'M2.5 1.5h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Zm1.2 2.2v4.6h4.6V3.7Z',
  'M6 .4 11.6 6 6 11.6.4 6Z',
  'M6 1.2 11.6 10.8H.4Z',
  'M4.4 1h3.2v3.4H11v3.2H7.6V11H4.4V7.6H1V4.4h3.4Z',
  'M1.6 1h3.2v10H1.6Zm5.6 0h3.2v10H7.2Z',
] as const;

/** How many `--tint-` colours the tokens have. */
const TINTS = 8;

export interface ProjectAppearance {
  /** A path on 12 by 12, filled by the even-odd rule. */
  shape: string;
  /** 1 to 8: the `--tint-` of the tokens. */
  tint: number;
}

/** The sign and the tint of a project. They depend on nothing but its name, so that they are the same everywhere and for everybody. */
export function projectAppearance(name: string): ProjectAppearance {
  const hash = hashOf(name);
  return { shape: SHAPES[hash % SHAPES.length] ?? SHAPES[0], tint: 1 + (Math.floor(hash / SHAPES.length) % TINTS) };
}

/** FNV-1a with a last mix, so that names that differ in one letter look different. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

const PATHS: Readonly<Record<Exclude<PriorityLabel, 'Normal'>, string>> = {
  // A filled square with a bar and a point cut out of it.
  Urgent:
    'M2.5 1h7A1.5 1.5 0 0 1 11 2.5v7A1.5 1.5 0 0 1 9.5 11h-7A1.5 1.5 0 0 1 1 9.5v-7A1.5 1.5 0 0 1 2.5 1Zm2.75 2v3.6h1.5V3Zm0 4.7v1.4h1.5V7.7Z',
  High: 'M6 1.8 11 6.6 9.9 7.7 6 3.95 2.1 7.7 1 6.6Zm0 3.6 5 4.8-1.1 1.1L6 7.55 2.1 11.3 1 10.2Z',
  Low: 'M6 9 1 4.2l1.1-1.1L6 6.85 9.9 3.1 11 4.2Z',
};

/** A stage's priority as a mark; a normal one has none. */
export function PriorityMark({ priority, size = 12 }: { priority: number; size?: number }) {
  const word = priorityLabel(priority);
  if (word === 'Normal') return null;
  const label = `${word} priority`;
  return (
    <span className={css.mark} data-word={word} role="img" aria-label={label} title={label}>
      <svg width={size} height={size} viewBox="0 0 12 12" fill="currentColor" aria-hidden>
        <path d={PATHS[word]} fillRule="evenodd" />
      </svg>
    </span>
  );
}

export type PriorityLabel = 'Urgent' | 'High' | 'Normal' | 'Low';

/** The priorities that a person chooses from; the API knows 0 to 9, and all from 3 on are low. */
export const PRIORITIES: readonly { value: number; word: PriorityLabel }[] = [
  { value: 0, word: 'Urgent' },
  { value: 1, word: 'High' },
  { value: 2, word: 'Normal' },
  { value: 3, word: 'Low' },
];

/** A stage's priority in one word: 0 is urgent, 1 high, 2 normal, 3 and more low. */
export function priorityLabel(priority: number): PriorityLabel {
  return PRIORITIES[Math.min(Math.max(priority, 0), 3)]?.word ?? 'Normal';
}

interface MachineMarkProps {
  name: string;
  /** What is wrong with the machine; null if nothing is. */
  storageError: string | null;
  className?: string | undefined;
}

/** Where a stage runs. */
export function MachineMark({ name, storageError, className }: MachineMarkProps) {
  const Icon = storageError === null ? IconServer : IconServerOff;
  return (
    <span
      className={className}
      title={storageError ?? `Runs on ${name}`}
      data-tone={storageError === null ? undefined : 'needs'}
    >
      <Icon size={13} aria-hidden />{' '}
      <span className="visually-hidden">{storageError === null ? 'on ' : `${storageError}: `}</span>
      {name}
    </span>
  );
}

interface IsolationMarkProps {
  session: Pick<SessionSummary, 'isolation' | 'sandboxAllowed'>;
  /** Whether the word is shown beside the icon. */
  hasWord?: boolean;
}

/** Whether a session's commands can answer in a person's place: an icon, with the details on hover. */
export function IsolationMark({ session: { isolation, sandboxAllowed }, hasWord = false }: IsolationMarkProps) {
  const { label, why, means } = isolationText(isolation);
  const ran = ranWithoutAsking(sandboxAllowed);
  const Icon = isolation.level === 'prevented' ? IconShieldCheck : IconShieldOff;
  const title = `${label}. ${why} ${means}${ran === '' ? '' : ` ${ran}.`}`;
  return (
    <span className={css.mark} title={title} {...(hasWord ? {} : { role: 'img', 'aria-label': title })}>
      <Icon size={14} aria-hidden />
      {hasWord && <span>{label}</span>}
      {sandboxAllowed > 0 && <span aria-hidden={!hasWord}>{sandboxAllowed.toLocaleString()}</span>}
    </span>
  );
}

const ICONS: Readonly<Record<RequestSign, typeof IconTool>> = {
  command: IconTerminal2,
  edit: IconPencil,
  file: IconFilePlus,
  question: IconHelpCircle,
  plan: IconListCheck,
  form: IconForms,
  network: IconWorld,
  tool: IconTool,
};

interface KindIconProps {
  kind: RequestKind;
  toolName?: string | undefined;
  size?: number;
}

/** What a request is about, as an icon. Decorative: the words beside it say the same. */
export function KindIcon({ kind, toolName = '', size = 16 }: KindIconProps) {
  const sign = requestSign(kind, toolName);
  const Icon = ICONS[sign];
  return <Icon size={size} stroke={1.75} aria-hidden data-sign={sign} style={{ flex: 'none' }} />;
}

/** What a request is about, in one word. */
export type RequestSign = 'command' | 'edit' | 'file' | 'question' | 'plan' | 'form' | 'network' | 'tool';

const OF_TOOL: Readonly<Record<string, RequestSign>> = {
  Bash: 'command',
  Edit: 'edit',
  MultiEdit: 'edit',
  NotebookEdit: 'edit',
  Write: 'file',
  Read: 'file',
  WebFetch: 'network',
  WebSearch: 'network',
};

/** A kind that is not listed is shown as a tool. */
const OF_KIND: Readonly<Partial<Record<RequestKind, RequestSign>>> = {
  question: 'question',
  plan: 'plan',
  elicitation: 'form',
  network: 'network',
};

/** What a request of that kind, for that tool, is about. */
export function requestSign(kind: RequestKind, toolName: string): RequestSign {
  return (kind === 'approval' ? OF_TOOL[toolName] : OF_KIND[kind]) ?? 'tool';
}

/** A stage's id, as people say it to one another. */
export const StageIdText = ({ id }: { id: StageId }) => <span className={css.id}>{id}</span>;

/** Callboard's sign: the rows of a board, one of them with its call. */
export const BrandMark = ({ size = 20 }: { size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 20 20" fill="currentColor" aria-hidden>
    <rect x="1" y="2.5" width="18" height="3" rx="1.5" opacity=".5" />
    <rect x="1" y="8.5" width="9" height="3" rx="1.5" />
    <circle cx="16" cy="10" r="3" />
    <rect x="1" y="14.5" width="18" height="3" rx="1.5" opacity=".5" />
  </svg>
);
