import { notifications } from '@mantine/notifications';
import { playSound } from './alert-sounds.ts';
import { setAlerts, turnOnNotifications, useAlertSettings } from './alerts.ts';

/** The two switches of this browser. Turning the sound on plays one. */
export function useAlertSwitches() {
  const { notify, sound } = useAlertSettings();
  const turnOn = async () => {
    if (await turnOnNotifications()) return;
    notifications.show({
      title: 'The browser does not allow notifications',
      message: 'Allow them for this address in the browser’s settings, then turn them on here.',
      color: 'gray',
    });
  };
  return {
    notify,
    sound,
    toggleNotify: () => (notify ? setAlerts({ notify: false }) : void turnOn()),
    toggleSound: () => {
      setAlerts({ sound: !sound });
      if (!sound) playSound('waiting');
    },
  };
}
