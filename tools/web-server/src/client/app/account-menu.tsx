import { ActionIcon, Menu } from '@mantine/core';
import { IconUserCircle } from '@tabler/icons-react';
import { ErrorBoundary, lazyComponent } from '../ui/error-boundary.tsx';
import css from './header.module.css';

const AccountItems = lazyComponent(() => import('./account-items.tsx'));

/** The person's settings and what else belongs to no page. Its content exists only while it is open. */
export function AccountMenu() {
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon className={css.account} variant="subtle" color="gray" size={32} aria-label="Account">
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
