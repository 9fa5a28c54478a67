import { ActionIcon, Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import {
  IconBell,
  IconBellRinging,
  IconDevices,
  IconKeyboard,
  IconLogout,
  IconMoon,
  IconSearch,
  IconSun,
  IconTrash,
  IconUserCircle,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, NavLink, useNavigate } from 'react-router';
import { boardQuery } from '../data/queries.ts';
import { useOverlayState } from '../features/interaction/model/overlay-queue.ts';
import { useLogout } from '../features/logins/api/login-commands.ts';
import { count } from '../lib/format.ts';
import { needsYouCount } from '../lib/stages-needing-you.ts';
import { useStreamState } from '../stream/stream-context.tsx';
import { beep, setAlerts, turnOnNotifications, useAlertSettings } from './alerts.ts';
import css from './frame.module.css';
import { openHelp, openLogins, openPalette } from './frame-store.ts';
import { FRAME_KEYS, isMac, type KeyEntry } from './keys.ts';

/** The header above every page. */
export function Header() {
  const { data: waiting = 0 } = useQuery({ ...boardQuery, select: needsYouCount });
  return (
    <header className={css.header}>
      <NavLink className={css.brand} to="/" aria-label="Callboard">
        <img src="/favicon.svg" alt="" />
        <span>Callboard</span>
      </NavLink>
      <nav className={css.nav} aria-label="Pages">
        <NavLink className={css.link} to="/" end title={titleWith(FRAME_KEYS.board)}>
          Board
        </NavLink>
        <NavLink className={css.link} to="/inbox" title={titleWith(FRAME_KEYS.inbox)}>
          Inbox
          {waiting > 0 && <span className={css.badge}>{waiting}</span>}
        </NavLink>
        <NavLink className={css.link} to="/sessions" title={titleWith(FRAME_KEYS.sessions)}>
          Sessions
        </NavLink>
        <NavLink className={css.link} to="/decisions" title={titleWith(FRAME_KEYS.decisions)}>
          Decisions
        </NavLink>
      </nav>
      <Health />
      <SearchButton />
      <Bell waiting={waiting} />
      <SchemeToggle />
      <AccountMenu />
    </header>
  );
}

/** What it does and its keys. `aria-keyshortcuts` cannot describe a sequence of keys. */
const titleWith = ({ does, keys }: KeyEntry): string => `${does} (${keys.join(' ')})`;

function SearchButton() {
  return (
    <button
      type="button"
      className={css.search}
      aria-keyshortcuts="Control+K Meta+K"
      title="Search stages, pages and actions"
      onClick={openPalette}
    >
      <IconSearch size={16} aria-hidden />
      <span className={css.searchWord}>Search or command</span>
      <kbd aria-hidden>{isMac ? '⌘ K' : 'Ctrl K'}</kbd>
    </button>
  );
}

/** How many stages need a person. A click opens the inbox and brings back requests that were set aside. */
function Bell({ waiting }: { waiting: number }) {
  const navigate = useNavigate();
  const bringBack = useOverlayState((state) => state.bringBack);
  const open = () => {
    bringBack();
    void navigate('/inbox');
  };
  const label = waiting === 0 ? 'Nothing waits for you' : `${count(waiting, 'stage needs', 'stages need')} you`;
  const Icon = waiting === 0 ? IconBell : IconBellRinging;
  return (
    <button type="button" className={css.bell} aria-label={label} title={label} onClick={open}>
      <Icon size={18} aria-hidden />
      {waiting > 0 && <span className={css.badge}>{waiting}</span>}
    </button>
  );
}

function Health() {
  const words = useStreamState(({ connection, orchestrator }) => {
    if (connection === 'lost') return 'No connection';
    if (orchestrator === 'unreachable') return 'Orchestrator away';
    return null;
  });
  return (
    <output className={css.health} data-well={words === null} title={words ?? 'Callboard and its orchestrator answer'}>
      <span className={css.dot} aria-hidden />
      {words === null ? (
        <span className="visually-hidden">All is well</span>
      ) : (
        <span className={css.healthWord}>{words}</span>
      )}
    </output>
  );
}

function useOtherScheme() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  return {
    label: isDark ? 'Use the light scheme' : 'Use the dark scheme',
    Icon: isDark ? IconSun : IconMoon,
    use: () => setColorScheme(isDark ? 'light' : 'dark'),
  };
}

function SchemeToggle() {
  const { label, Icon, use } = useOtherScheme();
  return (
    <ActionIcon
      className={css.roomy}
      variant="subtle"
      color="gray"
      size={32}
      aria-label={label}
      title={label}
      onClick={use}
    >
      <Icon size={18} />
    </ActionIcon>
  );
}

function AccountMenu() {
  const scheme = useOtherScheme();
  const logout = useLogout();
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size={32} aria-label="Account">
          <IconUserCircle size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <AlertItems />
        <Menu.Divider />
        <Menu.Item leftSection={<scheme.Icon size={16} />} onClick={scheme.use}>
          {scheme.label}
        </Menu.Item>
        <Menu.Item leftSection={<IconKeyboard size={16} />} rightSection={<kbd>?</kbd>} onClick={openHelp}>
          Keys
        </Menu.Item>
        <Menu.Item leftSection={<IconDevices size={16} />} onClick={openLogins}>
          Logins
        </Menu.Item>
        <Menu.Item leftSection={<IconTrash size={16} />} component={Link} to="/trash">
          Trash
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => logout.mutate(undefined)}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** The alert settings, for when a person is needed and no tab of Callboard is visible. */
function AlertItems() {
  const { notify, sound } = useAlertSettings();
  const toggleNotify = async () => {
    if (notify) return setAlerts({ notify: false });
    if (await turnOnNotifications()) return;
    notifications.show({
      title: 'The browser does not allow notifications',
      message: 'Allow them for this address in the browser’s own settings, then turn them on here.',
      color: 'gray',
    });
  };
  const toggleSound = () => {
    setAlerts({ sound: !sound });
    if (!sound) beep();
  };
  return (
    <>
      <Menu.Label>When you are needed and no tab is visible</Menu.Label>
      <Menu.CheckboxItem checked={notify} onChange={() => void toggleNotify()}>
        Notify me
      </Menu.CheckboxItem>
      <Menu.CheckboxItem checked={sound} onChange={toggleSound}>
        Play a sound
      </Menu.CheckboxItem>
    </>
  );
}
