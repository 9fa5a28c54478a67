import type { MessageMode } from '@callboard/contract';
import { ActionIcon, Button, Menu } from '@mantine/core';
import { IconChevronUp, IconSend2 } from '@tabler/icons-react';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { sendModes } from '../model/composer-words.ts';
import css from './messages.module.css';

interface SendButtonProps {
  off: boolean;
  busy: boolean;
  /** While Claude works, there is more than one way to send. */
  isWorking: boolean;
  isChecking: boolean;
  submit: (mode: MessageMode) => void;
}

export function SendButton({ off, busy, isWorking, isChecking, submit }: SendButtonProps) {
  return (
    <Button.Group>
      <Button
        onClick={() => submit('append')}
        disabled={off}
        loading={busy}
        leftSection={<IconSend2 size={16} />}
        title={isWorking ? 'Queue it (Enter)' : 'Send (Enter)'}
      >
        Send
      </Button>
      {isWorking && (
        <Menu position="top-end">
          <Menu.Target>
            <ActionIcon variant="filled" size={32} aria-label="Other ways to send" disabled={off} className={css.ways}>
              <IconChevronUp size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {sendModes(isChecking).map(({ mode, label, does, keys }) => (
              <Menu.Item
                key={mode}
                onClick={() => submit(mode)}
                rightSection={keys === '' ? null : <KeyHint>{keys}</KeyHint>}
              >
                {label}
                <span className={css.does}>{does}</span>
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </Button.Group>
  );
}
