import { ActionIcon, CopyButton, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import css from './code.module.css';

/** A command or path with a button that copies it. */
export function CopyLine({ text, label = 'command' }: { text: string; label?: string }) {
  return (
    <div className={css.copy}>
      <code>{text}</code>
      <CopyButton value={text} timeout={2000}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? 'Copied' : 'Copy'}>
            <ActionIcon variant="subtle" color="gray" aria-label={copied ? 'Copied' : `Copy ${label}`} onClick={copy}>
              {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </div>
  );
}
