import { IconShieldOff } from '@tabler/icons-react';
import { asSentence } from '../../../lib/request-text.ts';
import { Seen } from '../../../ui/seen.tsx';
import css from './content.module.css';

/** Whether the reason is a phrase; the CLI may give only the name of a field. */
const isSaid = (reason: string) => reason.trim().includes(' ');

/** Warns what it means to run a command outside the sandbox. */
export function LeavesSandbox({ reason }: { reason: string | null }) {
  return (
    <div className={css.leaves} role="note">
      <IconShieldOff size={16} aria-hidden />
      <div className={css.leavesWords}>
        <p>
          <strong>It will run outside the sandbox.</strong> It can then change your files, use the network without
          asking, and approve its own requests. From then on, Callboard notices a forged answer in this session and
          stops the session, but cannot prevent it.
        </p>
        {reason !== null && isSaid(reason) && (
          <p className={css.hint}>
            <Seen text={asSentence(reason)} kind="prose" />
          </p>
        )}
        <p className={css.hint}>Allowed this once only: no rule can allow it.</p>
      </div>
    </div>
  );
}
