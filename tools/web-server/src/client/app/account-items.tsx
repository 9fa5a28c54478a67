import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import {
  IconBellCog,
  IconChartBar,
  IconCoin,
  IconDevices,
  IconDeviceTv,
  IconHourglass,
  IconKeyboard,
  IconLogout,
  IconPlugOff,
  IconRoute,
  IconServer2,
  IconShieldCheck,
  IconTrash,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { budgetsDialog, crashDialog, helpDialog, limitsDialog, loginsDialog } from '../data/dialogs.ts';
import { boardQuery } from '../data/queries.ts';
import { PresentationItems } from '../features/approvals/presentation.tsx';
import { useLogout } from '../features/logins/new-logins.tsx';
import { useAlertSwitches } from '../features/notifications/alerts.ts';

/** What the account menu shows once it is open. */
export default function AccountItems() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('dark') === 'dark';
  const logout = useLogout();
  const { data: hasMachines = false } = useQuery({ ...boardQuery, select: (view) => view.machines.length > 0 });
  const { data: hasLimits = false } = useQuery({ ...boardQuery, select: (view) => view.limits.limits !== null });
  return (
    <>
      <AlertItems />
      <Menu.Divider />
      <PresentationItems />
      <Menu.Divider />
      <Menu.CheckboxItem checked={isDark} onChange={() => setColorScheme(isDark ? 'light' : 'dark')}>
        Dark theme
      </Menu.CheckboxItem>
      <Menu.Divider />
      <Menu.Item leftSection={<IconKeyboard size={16} />} rightSection={<kbd>?</kbd>} onClick={helpDialog.open}>
        Keyboard shortcuts
      </Menu.Item>
      <Menu.Item leftSection={<IconDevices size={16} />} onClick={loginsDialog.open}>
        Logins
      </Menu.Item>
      <Menu.Item leftSection={<IconCoin size={16} />} onClick={() => budgetsDialog.open()}>
        Budgets
      </Menu.Item>
      {hasLimits && (
        <Menu.Item leftSection={<IconHourglass size={16} />} onClick={limitsDialog.open}>
          Usage limits
        </Menu.Item>
      )}
      <Menu.Item leftSection={<IconShieldCheck size={16} />} component={Link} to="/rules">
        Rules
      </Menu.Item>
      <Menu.Item leftSection={<IconChartBar size={16} />} component={Link} to="/numbers">
        Numbers
      </Menu.Item>
      {hasMachines && (
        <Menu.Item leftSection={<IconServer2 size={16} />} component={Link} to="/machines">
          Machines
        </Menu.Item>
      )}
      <Menu.Item leftSection={<IconDeviceTv size={16} />} component={Link} to="/wall">
        Wall
      </Menu.Item>
      <Menu.Item leftSection={<IconTrash size={16} />} component={Link} to="/trash">
        Trash
      </Menu.Item>
      <Menu.Item leftSection={<IconRoute size={16} />} component={Link} to="/?tour">
        Tour
      </Menu.Item>
      <Menu.Item leftSection={<IconPlugOff size={16} />} onClick={crashDialog.open}>
        Pull the plug
      </Menu.Item>
      <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => logout.mutate(undefined)}>
        Log out
      </Menu.Item>
    </>
  );
}

/** What this browser may do to alert a person who does not look at a stage. */
function AlertItems() {
  const { notify, sound, toggleNotify, toggleSound } = useAlertSwitches();
  return (
    <>
      <Menu.Label>Notifications (for what you are not looking at)</Menu.Label>
      <Menu.CheckboxItem checked={notify} onChange={toggleNotify}>
        Notify me
      </Menu.CheckboxItem>
      <Menu.CheckboxItem checked={sound} onChange={toggleSound}>
        Play a sound
      </Menu.CheckboxItem>
      <Menu.Item leftSection={<IconBellCog size={16} />} component={Link} to="/notifications">
        Notification settings
      </Menu.Item>
    </>
  );
}
