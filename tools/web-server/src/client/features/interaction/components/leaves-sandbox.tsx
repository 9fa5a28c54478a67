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
          asking, and reach what answers for you. From then on this session counts as <em>noticed</em>: if something
          answers in your place, Callboard stops the session, but cannot prevent it.
        </p>
        {reason !== null && isSaid(reason) && (
          <p className={css.hint}>
            <Seen text={asSentence(reason)} kind="prose" />
          </p>
        )}
        <p className={css.hint}>Allowed this once. No rule can allow it for good.</p>
      </div>
    </div>
  );
}
