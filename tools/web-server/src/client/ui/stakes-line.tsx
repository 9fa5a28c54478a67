import type { Risk, RiskCode } from '@callboard/contract';
import {
  type Icon,
  IconAlertTriangle,
  IconCalendarTime,
  IconFolderShare,
  IconGitBranch,
  IconGitFork,
  IconKey,
  IconPackageImport,
  IconPencil,
  IconPlayerStop,
  IconShieldOff,
  IconTrash,
  IconWorld,
} from '@tabler/icons-react';
import { Seen } from './seen.tsx';
import css from './stakes-line.module.css';

const ICONS: Readonly<Record<RiskCode, Icon>> = {
  schedules: IconCalendarTime,
  credentials: IconKey,
  privileges: IconShieldOff,
  'git-remote': IconGitFork,
  'git-history': IconGitBranch,
  deletes: IconTrash,
  outside: IconFolderShare,
  installs: IconPackageImport,
  network: IconWorld,
  processes: IconPlayerStop,
  unknown: IconAlertTriangle,
  writes: IconPencil,
};

/** The icon of one thing at risk; a word has to stand beside it. */
function RiskIcon({ code, size = 16 }: { code: RiskCode; size?: number }) {
  const Picture = ICONS[code];
  return <Picture size={size} stroke={1.75} aria-hidden />;
}

/** What is at risk in a request, each in a sentence with its icon. Draws nothing if nothing is known to be. */
export function RisksLine({ stakes }: { stakes: readonly Risk[] }) {
  if (stakes.length === 0) return null;
  return (
    <ul className={css.stakes} aria-label="At stake">
      {stakes.map(({ code, text }) => (
        <li key={`${code} ${text}`}>
          <RiskIcon code={code} />
          <span>
            <Seen text={text} kind="command" />
          </span>
        </li>
      ))}
    </ul>
  );
}
