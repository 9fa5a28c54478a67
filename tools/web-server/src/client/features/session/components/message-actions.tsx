import type { MessageId, StageId } from '@callboard/contract';
import { Menu } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconArrowBackUp, IconDots, IconGitFork } from '@tabler/icons-react';
import { type MomentAction, openMomentDialog } from '../../../data/moment-dialog.ts';
import { rewoundBy } from '../model/taken-back.ts';
import css from './message-actions.module.css';
import { useTranscriptDeps } from './transcript-context.tsx';

interface MessageActionsProps {
  entry: { stageId: StageId; index: number; messageId: MessageId; text: string };
}

const ACTIONS = [
  { kind: 'back', label: 'Back to here', key: 'r', Icon: IconArrowBackUp },
  { kind: 'fork', label: 'Fork from here', key: 'f', Icon: IconGitFork },
] as const;

/** Goes back to before a message, or forks the stage there: buttons under a pointer, a menu under a thumb. */
export function MessageActions({ entry }: MessageActionsProps) {
  const { stageId, messageId, text, index } = entry;
  const { goneBack } = useTranscriptDeps();
  const isTouch = useMediaQuery('(pointer: coarse)', false, { getInitialValueInEffect: false });
  const open = (kind: MomentAction['kind']) => openMomentDialog({ kind, stageId, message: { id: messageId, text } });
  // From what was taken back, a fork is the way to how it was then.
  const isRewound = rewoundBy(goneBack, index) !== null;
  const actions = ACTIONS.filter(({ kind }) => kind === 'fork' || !isRewound);
  if (isTouch)
    return (
      <Menu position="bottom-end">
        <Menu.Target>
          <button type="button" className={css.menu} aria-label="Message actions">
            <IconDots size={16} />
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          {actions.map(({ kind, label, Icon }) => (
            <Menu.Item key={kind} mih={44} leftSection={<Icon size={16} />} onClick={() => open(kind)}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    );
  return actions.map(({ kind, label, key, Icon }) => (
    <button
      key={kind}
      type="button"
      className={css.action}
      aria-label={label}
      title={`${label} (${key.toUpperCase()})`}
      data-row-key={key}
      onClick={() => open(kind)}
    >
      <Icon size={16} />
    </button>
  ));
}
