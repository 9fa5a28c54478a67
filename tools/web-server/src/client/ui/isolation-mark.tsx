import type { SessionSummary } from '@callboard/contract';
import { IconShieldCheck, IconShieldOff } from '@tabler/icons-react';
import { isolationText, ranWithoutAsking } from '../lib/isolation-words.ts';
import css from './isolation-mark.module.css';

interface IsolationMarkProps {
  session: Pick<SessionSummary, 'isolation' | 'sandboxAllowed'>;
  /** Whether the word is shown beside the icon. */
  hasWord?: boolean;
}

/** Whether a session's commands can answer in a person's place: an icon, with the details on hover. */
export function IsolationMark({ session: { isolation, sandboxAllowed }, hasWord = false }: IsolationMarkProps) {
  const { label, why, means } = isolationText(isolation);
  const ran = ranWithoutAsking(sandboxAllowed);
  const Icon = isolation.level === 'prevented' ? IconShieldCheck : IconShieldOff;
  const title = `${label}. ${why} ${means}${ran === '' ? '' : ` ${ran}.`}`;
  return (
    <span className={css.mark} title={title} {...(hasWord ? {} : { role: 'img', 'aria-label': title })}>
      <Icon size={14} aria-hidden />
      {hasWord && <span>{label}</span>}
      {sandboxAllowed > 0 && <span aria-hidden={!hasWord}>{sandboxAllowed.toLocaleString()}</span>}
    </span>
  );
}
