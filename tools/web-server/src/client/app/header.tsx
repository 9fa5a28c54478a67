import { CLAUDE_UNCHECKED, type ClaudeState, NO_LIMITS, stagesNeedingYou } from '@callboard/contract';
import { ActionIcon, Button, Group, Menu, Text } from '@mantine/core';
import { IconHistory, IconInbox, IconLayoutColumns, IconSearch, IconUserCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { NavLink } from 'react-router';
import { limitsDialog, paletteDialog } from '../data/dialogs.ts';
import { boardQuery } from '../data/queries.ts';
import { count } from '../lib/format.ts';
import { useNow } from '../lib/hooks.ts';
import { limitLine } from '../lib/limit-text.ts';
import { claudeLabel } from '../lib/stage-status.ts';
import { useStreamState } from '../stream/stream-context.tsx';
import type { StreamState } from '../stream/stream-store.ts';
import { ErrorBoundary, lazyComponent } from '../ui/error-boundary.tsx';
import { BrandMark } from '../ui/marks.tsx';
import { Count } from '../ui/primitives.tsx';
import { stageAtHand } from './frame-store.ts';
import css from './header.module.css';
import { FRAME_KEYS, isMac, type KeyEntry } from './keys.ts';

/** The header above every page. Each part watches what it shows: an event draws only the part that it changes. */
export function Header() {
  // The bar about the connection takes its room from the header, so that nothing below it moves.
  const isLow = useStreamState((state) => absenceText(state) !== null);
  return (
    <header className={css.header} data-low={isLow || undefined}>
      <NavLink className={css.brand} to="/" aria-label="Callboard">
        <BrandMark />
        <span>Callboard</span>
      </NavLink>
      <nav className={css.nav} aria-label="Pages">
        <PageLink to="/" entry={FRAME_KEYS.board} icon={<IconLayoutColumns size={20} stroke={1.75} aria-hidden />}>
          <span className={css.word}>Board</span>
        </PageLink>
        <InboxLink />
        <PageLink
          to="/decisions"
          entry={FRAME_KEYS.decisions}
          icon={<IconHistory size={20} stroke={1.75} aria-hidden />}
        >
          <span className={css.word}>Decisions</span>
        </PageLink>
      </nav>
      <Group gap="xs" wrap="nowrap" miw={0}>
        <LimitStatus />
        <Health />
        <SearchButton />
        <AccountMenu />
      </Group>
    </header>
  );
}

interface PageLinkProps {
  to: string;
  entry: KeyEntry;
  /** Shown on phones, where the links are at the bottom. */
  icon: ReactNode;
  /** What there is on the page now, shown on hover. */
  about?: string | undefined;
  children: ReactNode;
}

const PageLink = ({ to, entry, icon, about, children }: PageLinkProps) => (
  <NavLink
    className={css.link}
    to={to}
    end={to === '/'}
    title={about === undefined ? titleWith(entry) : `${titleWith(entry)}\n${about}`}
  >
    <span className={css.icon}>{icon}</span>
    <span className={css.label}>{children}</span>
  </NavLink>
);

/** What it does and its keys. `aria-keyshortcuts` cannot describe a sequence of keys. */
const titleWith = ({ does, keys }: KeyEntry): string => `${does} (${keys.join(' ')})`;

/** The one counter of the stages that need a person; on hover also which. */
function InboxLink() {
  const { data: titles = [] } = useQuery({
    ...boardQuery,
    select: (view) => stagesNeedingYou(view).map(({ title }) => title),
  });
  return (
    <PageLink
      to="/inbox"
      entry={FRAME_KEYS.inbox}
      icon={<IconInbox size={20} stroke={1.75} aria-hidden />}
      about={titles.length === 0 ? undefined : callText(titles)}
    >
      <span className={css.word}>Inbox</span>
      {titles.length > 0 && <Count className={css.badge}>{titles.length}</Count>}
    </PageLink>
  );
}

function SearchButton() {
  return (
    <button
      type="button"
      className={css.search}
      aria-keyshortcuts="Control+K Meta+K"
      title={FRAME_KEYS.palette.does}
      onClick={() => paletteDialog.open(stageAtHand())}
    >
      <IconSearch size={16} stroke={1.75} aria-hidden />
      <span className="visually-hidden-on-phone">Search or command</span>
      <kbd aria-hidden>{isMac ? '⌘ K' : 'Ctrl K'}</kbd>
    </button>
  );
}

/** How much of a usage limit is used up, once that is near. A click opens all limits. */
function LimitStatus() {
  const { data: limits = NO_LIMITS } = useQuery({ ...boardQuery, select: (view) => view.limits });
  const line = limitLine(limits, new Date(useNow()));
  if (line === null) return null;
  return (
    <Button
      variant="subtle"
      color="gray"
      size="compact-md"
      visibleFrom="sm"
      flex="none"
      mah="100%"
      px="sm"
      fw={400}
      c="var(--muted)"
      title={line.text}
      onClick={limitsDialog.open}
    >
      {line.short}
    </Button>
  );
}

/** What is wrong, in a word and on hover in a sentence, where nothing moves when it comes; nothing to see while all is well. */
function Health() {
  const { data: claude } = useQuery({ ...boardQuery, select: (view) => view.claude });
  const says = useStreamState((state) => healthText(state, claude ?? CLAUDE_UNCHECKED));
  const why = (says?.startsWith('Claude') === true ? claude?.why : null) ?? says ?? undefined;
  return (
    <Text component="output" className={css.health} size="row" fw={500} px="sm" truncate data-tone="fail" title={why}>
      {says === null ? <span className="visually-hidden">Connected</span> : says}
    </Text>
  );
}

const AccountItems = lazyComponent(() => import('./account-items.tsx'));

/** The person's settings and what else belongs to no page. Its content exists only while it is open. */
function AccountMenu() {
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon className={css.account} variant="subtle" color="gray" size={32} mah="100%" aria-label="Account">
          <IconUserCircle size={20} stroke={1.75} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <ErrorBoundary name="The menu">
          <AccountItems />
        </ErrorBoundary>
      </Menu.Dropdown>
    </Menu>
  );
}

/** So many titles are named; the rest is a number. */
const NAMED = 4;

/** Who needs a person, in a line: "2 stages need you: Login form, Refunds". */
export function callText(titles: readonly string[]): string {
  const rest = titles.length - NAMED;
  const calls = `${count(titles.length, 'stage needs', 'stages need')} you`;
  return `${calls}: ${titles.slice(0, NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** What is wrong, in a word: the connection, the orchestrator, Claude Code. Null while all is well. */
export function healthText(
  { connection, orchestrator }: Pick<StreamState, 'connection' | 'orchestrator'>,
  claude: Pick<ClaudeState, 'state'>,
): string | null {
  if (connection === 'lost') return 'No connection';
  return orchestrator === 'unreachable' ? 'Orchestrator offline' : claudeLabel(claude);
}

interface AbsenceText {
  says: string;
  /** What it means and what to do. */
  so: string;
  /** The same where there is little room. */
  inShort: string;
}

const ABSENCES = {
  connection: {
    says: 'Connection lost.',
    so: 'Reconnecting... If you stopped Callboard, start it again.',
    inShort: 'Reconnecting...',
  },
  orchestrator: {
    says: 'The orchestrator does not answer.',
    so: 'Reconnecting... Running Claude processes continue; answers are sent once it is back, while this page stays open.',
    inShort: 'Claude processes continue.',
  },
  proxy: {
    says: 'A proxy holds up live updates.',
    so: "This page asks for news instead: requests arrive and can be answered, and Claude's text appears once it is complete. Turn off buffering in the proxy.",
    inShort: 'Asking for news instead.',
  },
} as const satisfies Record<string, AbsenceText>;

/** What the bar says while a part of Callboard cannot be reached, or not as it should; null while all is well. */
export function absenceText({
  connection,
  orchestrator,
  isStalled,
}: Pick<StreamState, 'connection' | 'orchestrator' | 'isStalled'>): AbsenceText | null {
  if (connection === 'lost') return ABSENCES.connection;
  if (orchestrator === 'unreachable') return ABSENCES.orchestrator;
  return isStalled ? ABSENCES.proxy : null;
}
