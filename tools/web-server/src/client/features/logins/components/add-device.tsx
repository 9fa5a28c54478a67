import { Button } from '@mantine/core';
import { IconDevices } from '@tabler/icons-react';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useAddDevice } from '../api/login-commands.ts';
import css from './logins-dialog.module.css';

/** Makes a login link for one more browser, and shows it until the dialog is closed. */
export function AddDevice() {
  const add = useAddDevice();
  const canCommand = useCanCommand();
  const link = add.data === undefined ? null : linkOf(add.data.code);
  return (
    <section className={css.device} aria-label="Add a device">
      {link === null ? (
        <p className={css.hint}>Another browser that can reach this address logs in with a link.</p>
      ) : (
        <div role="status" className={css.link}>
          <CopyLine text={link} label="login link" />
          <p className={css.hint}>
            Works once, for an hour. Whoever has it is logged in as you; a new login shows on every open board.
          </p>
        </div>
      )}
      {add.isError && <ErrorNote lead="No link was made." error={add.error} />}
      <Button
        variant={link === null ? 'filled' : 'default'}
        leftSection={<IconDevices size={16} />}
        disabled={!canCommand}
        loading={add.isPending}
        onClick={() => add.mutate(undefined)}
      >
        {link === null ? 'Add a device' : 'Make another link'}
      </Button>
    </section>
  );
}

const linkOf = (code: string): string => `${window.location.origin}/login?code=${encodeURIComponent(code)}`;
