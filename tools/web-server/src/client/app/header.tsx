import { ActionIcon, Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { IconBell, IconBellRinging, IconLogout, IconMoon, IconSun, IconUserCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { NavLink, useNavigate } from 'react-router';
import { useOverlayState } from '../features/interaction/model/overlay-queue.ts';
import { call, Nothing } from '../lib/api.ts';
import { count } from '../lib/time.ts';
import { useLiveState } from '../live/live-context.tsx';
import { boardQuery } from '../live/queries.ts';
import { useCommand } from '../live/use-command.ts';
import css from './frame.module.css';

/** What is above every page. */
export function Header() {
  const { data: waiting = 0 } = useQuery({ ...boardQuery, select: (view) => view.pending.length });
  return (
    <header className={css.header}>
      <NavLink className={css.brand} to="/" aria-label="Callboard">
        <img src="/favicon.svg" alt="" />
        <span>Callboard</span>
      </NavLink>
      <nav className={css.nav} aria-label="Pages">
        <NavLink className={css.link} to="/" end>
          Board
        </NavLink>
        <NavLink className={css.link} to="/inbox">
          Inbox
          {waiting > 0 && <span className={css.badge}>{waiting}</span>}
        </NavLink>
      </nav>
      <Health />
      <Bell waiting={waiting} />
      <SchemeToggle />
      <AccountMenu />
    </header>
  );
}

/** How many wait. Pressed, it opens the inbox and brings back what was set aside. */
function Bell({ waiting }: { waiting: number }) {
  const navigate = useNavigate();
  const bringBack = useOverlayState((state) => state.bringBack);
  const open = () => {
    bringBack();
    void navigate('/inbox');
  };
  const label = waiting === 0 ? 'Nothing waits for you' : `${count(waiting, 'request waits', 'requests wait')} for you`;
  const Icon = waiting === 0 ? IconBell : IconBellRinging;
  return (
    <button type="button" className={css.bell} aria-label={label} title={label} onClick={open}>
      <Icon size={18} aria-hidden />
      {waiting > 0 && <span className={css.badge}>{waiting}</span>}
    </button>
  );
}

function Health() {
  const words = useLiveState(({ connection, orchestrator }) => {
    if (connection === 'lost') return 'No connection';
    if (orchestrator === 'unreachable') return 'Orchestrator away';
    return null;
  });
  return (
    <output className={css.health} data-well={words === null} title={words ?? 'All is well'}>
      <span className={css.dot} aria-hidden />
      {words === null ? (
        <span className="visually-hidden">All is well</span>
      ) : (
        <span className={css.healthWord}>{words}</span>
      )}
    </output>
  );
}

function SchemeToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  const label = isDark ? 'Use the light scheme' : 'Use the dark scheme';
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size={32}
      aria-label={label}
      title={label}
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
    >
      {isDark ? <IconSun size={18} /> : <IconMoon size={18} />}
    </ActionIcon>
  );
}

function AccountMenu() {
  const logout = useCommand({
    run: () => call('/api/logout', { method: 'POST', reply: Nothing }),
    failed: 'You are still logged in',
    done: () => window.location.assign('/'),
  });
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size={32} aria-label="Account">
          <IconUserCircle size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => logout.mutate(undefined)}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
