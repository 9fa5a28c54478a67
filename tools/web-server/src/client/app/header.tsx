import { CLAUDE_UNCHECKED, NO_LIMITS, needsYouCount, stagesNeedingYou } from '@callboard/contract';
import {
  IconBell,
  IconBellRinging,
  IconHistory,
  IconInbox,
  IconLayoutColumns,
  IconList,
  IconSearch,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { NavLink, useNavigate } from 'react-router';
import { openLimitsDialog } from '../data/limits-dialog.ts';
import { boardQuery } from '../data/queries.ts';
import { limitLine } from '../lib/limit-words.ts';
import { useNow } from '../lib/use-now.ts';
import { useStreamState } from '../stream/stream-context.tsx';
import { BrandMark } from '../ui/brand-mark.tsx';
import { AccountMenu } from './account-menu.tsx';
import { openPalette } from './frame-store.ts';
import { absenceText, callCount, callText, healthText } from './frame-words.ts';
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
        <PageLink to="/inbox" entry={FRAME_KEYS.inbox} icon={<IconInbox size={20} stroke={1.75} aria-hidden />}>
          <span className={css.word}>Inbox</span>
          <WaitingCount />
        </PageLink>
        <PageLink to="/sessions" entry={FRAME_KEYS.sessions} icon={<IconList size={20} stroke={1.75} aria-hidden />}>
          <span className={css.word}>Sessions</span>
        </PageLink>
        <PageLink
          to="/decisions"
          entry={FRAME_KEYS.decisions}
          icon={<IconHistory size={20} stroke={1.75} aria-hidden />}
        >
          <span className={css.word}>Decisions</span>
        </PageLink>
      </nav>
      <div className={css.end}>
        <LimitStatus />
        <Health />
        <SearchButton />
        <Signal />
        <HealthDot />
        <AccountMenu />
      </div>
    </header>
  );
}

interface PageLinkProps {
  to: string;
  entry: KeyEntry;
  /** Shown on phones, where the links are at the bottom. */
  icon: ReactNode;
  children: ReactNode;
}

const PageLink = ({ to, entry, icon, children }: PageLinkProps) => (
  <NavLink className={css.link} to={to} end={to === '/'} title={titleWith(entry)}>
    <span className={css.icon}>{icon}</span>
    <span className={css.label}>{children}</span>
  </NavLink>
);

/** What it does and its keys. `aria-keyshortcuts` cannot describe a sequence of keys. */
const titleWith = ({ does, keys }: KeyEntry): string => `${does} (${keys.join(' ')})`;

function WaitingCount() {
  const { data: waiting = 0 } = useQuery({ ...boardQuery, select: needsYouCount });
  return waiting > 0 && <span className={`${css.badge} figures`}>{waiting}</span>;
}

function SearchButton() {
  return (
    <button
      type="button"
      className={css.search}
      aria-keyshortcuts="Control+K Meta+K"
      title={FRAME_KEYS.palette.does}
      onClick={openPalette}
    >
      <IconSearch size={16} stroke={1.75} aria-hidden />
      <span className={css.searchWord}>Search or command</span>
      <kbd aria-hidden>{isMac ? '⌘ K' : 'Ctrl K'}</kbd>
    </button>
  );
}

/** How many stages need a person, on hover also which. A click opens the inbox. */
function Signal() {
  const navigate = useNavigate();
  const { data: titles = [] } = useQuery({
    ...boardQuery,
    select: (view) => stagesNeedingYou(view).map(({ title }) => title),
  });
  const Icon = titles.length === 0 ? IconBell : IconBellRinging;
  return (
    <button
      type="button"
      className={css.bell}
      data-called={titles.length > 0}
      aria-label={callCount(titles.length)}
      title={callText(titles)}
      onClick={() => void navigate('/inbox')}
    >
      <Icon size={18} stroke={1.75} aria-hidden />
      {titles.length > 0 && <span className="figures">{titles.length}</span>}
    </button>
  );
}

/** How much of a usage limit is used up, once that is near. A click opens all limits. */
function LimitStatus() {
  const { data: limits = NO_LIMITS } = useQuery({ ...boardQuery, select: (view) => view.limits });
  const line = limitLine(limits, new Date(useNow()));
  if (line === null) return null;
  return (
    <button type="button" className={css.limit} title={line.text} onClick={openLimitsDialog}>
      {line.short}
    </button>
  );
}

/** What is wrong, in a word and on hover in a sentence; null while all is well. */
function useHealth(): { says: string | null; why: string } {
  const { data: claude } = useQuery({ ...boardQuery, select: (view) => view.claude });
  const says = useStreamState((state) => healthText(state, claude ?? CLAUDE_UNCHECKED));
  const isClaude = says?.startsWith('Claude') === true;
  return { says, why: (isClaude ? claude?.why : null) ?? says ?? 'Connected' };
}

/** What is wrong, where nothing moves when it comes. */
function Health() {
  const { says, why } = useHealth();
  return (
    <output className={css.health} title={why}>
      {says === null ? <span className="visually-hidden">Connected</span> : says}
    </output>
  );
}

function HealthDot() {
  const { says, why } = useHealth();
  return (
    <span className={css.dotPlace} title={why} aria-hidden>
      <span className={css.dot} data-well={says === null} />
    </span>
  );
}
