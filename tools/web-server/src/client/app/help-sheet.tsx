import { Switch, Text } from '@mantine/core';
import { helpDialog } from '../data/dialogs.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Tag } from '../ui/primitives.tsx';
import { useLetterKeys } from '../ui/shortcuts.tsx';
import css from './help-sheet.module.css';
import { isMac, KEY_GROUPS, type KeyEntry } from './keys.ts';

/** Lists every key and what it does. */
export default function HelpSheet() {
  const { on, set } = useLetterKeys();
  return (
    <Dialog
      opened={helpDialog.useIsOpen()}
      close={helpDialog.close}
      title="Keyboard shortcuts"
      size={720}
      closeOnClickOutside
    >
      <div className={css.groups}>
        {KEY_GROUPS.map(({ title, entries }) => (
          <section key={title}>
            <Text component="h3" size="xs" fw={500} c="var(--faint)" mb="xs">
              {title}
            </Text>
            <dl>
              {entries.map((entry) => (
                <Row key={entry.does} entry={entry} />
              ))}
            </dl>
          </section>
        ))}
      </div>
      <Switch
        mt="xl"
        label="Single-letter shortcuts"
        description="Turn off to keep only Ctrl shortcuts."
        checked={on}
        onChange={(event) => set(event.currentTarget.checked)}
      />
    </Dialog>
  );
}

function Row({ entry: { keys, does } }: { entry: KeyEntry }) {
  return (
    <div className={css.row}>
      <dt>
        {keys.map((key) => (
          <Tag key={key}>
            <kbd>{key === 'Ctrl' && isMac ? '⌘' : key}</kbd>
          </Tag>
        ))}
      </dt>
      <dd>{does}</dd>
    </div>
  );
}
