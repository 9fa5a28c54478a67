import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDevices, IconHourglass, IconKeyboard, IconLogout, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { openLimitsDialog } from '../data/limits-dialog.ts';
import { boardQuery } from '../data/queries.ts';
import { PresentationItems } from '../features/interaction/components/presentation-items.tsx';
import { useLogout } from '../features/logins/api/login-commands.ts';
import { beep, setAlerts, turnOnNotifications, useAlertSettings } from './alerts.ts';
import { openHelp, openLogins } from './frame-store.ts';

/** What the account menu shows once it is open. */
export default function AccountItems() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('dark') === 'dark';
  const logout = useLogout();
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
      <Menu.Item leftSection={<IconKeyboard size={16} />} rightSection={<kbd>?</kbd>} onClick={openHelp}>
        Keyboard shortcuts
      </Menu.Item>
      <Menu.Item leftSection={<IconDevices size={16} />} onClick={openLogins}>
        Logins
      </Menu.Item>
      {hasLimits && (
        <Menu.Item leftSection={<IconHourglass size={16} />} onClick={openLimitsDialog}>
          Usage limits
        </Menu.Item>
      )}
      <Menu.Item leftSection={<IconTrash size={16} />} component={Link} to="/trash">
        Trash
      </Menu.Item>
      <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => logout.mutate(undefined)}>
        Log out
      </Menu.Item>
    </>
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
      message: 'Allow them for this address in the browser’s settings, then turn them on here.',
      color: 'gray',
    });
  };
  const toggleSound = () => {
    setAlerts({ sound: !sound });
    if (!sound) beep();
  };
  return (
    <>
      <Menu.Label>Notifications (when Callboard is in the background)</Menu.Label>
      <Menu.CheckboxItem checked={notify} onChange={() => void toggleNotify()}>
        Notify me
      </Menu.CheckboxItem>
      <Menu.CheckboxItem checked={sound} onChange={toggleSound}>
        Play a sound
      </Menu.CheckboxItem>
    </>
  );
}
