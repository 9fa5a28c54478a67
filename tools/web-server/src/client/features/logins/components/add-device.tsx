import { Button } from '@mantine/core';
import { IconDevices } from '@tabler/icons-react';
import { lazy, Suspense } from 'react';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useAddDevice } from '../api/login-commands.ts';
import css from './logins-dialog.module.css';

const QrCode = lazy(() => import('./qr-code.tsx'));

/** Makes a login link for one more browser, and shows it until the dialog is closed. */
export function AddDevice() {
  const add = useAddDevice();
  const canCommand = useCanCommand();
  return (
    <section className={css.device} aria-label="Add a device">
      {add.data === undefined ? (
        <p className={css.hint}>Another browser that can reach this address logs in with a link.</p>
      ) : (
        <NewLink code={add.data.code} publicUrl={add.data.publicUrl} />
      )}
      {add.isError && <ErrorNote lead="No link was made." error={add.error} />}
      <Button
        variant={add.data === undefined ? 'filled' : 'default'}
        leftSection={<IconDevices size={16} />}
        disabled={!canCommand}
        loading={add.isPending}
        onClick={() => add.mutate(undefined)}
      >
        {add.data === undefined ? 'Add a device' : 'Make another link'}
      </Button>
    </section>
  );
}

/** The link leads to the public URL; without one, to where this page is, which a phone may not reach: hence no QR code. */
function NewLink({ code, publicUrl }: { code: string; publicUrl: string | null }) {
  const link = `${publicUrl ?? window.location.origin}/login?code=${encodeURIComponent(code)}`;
  return (
    <div role="status" className={css.link}>
      <CopyLine text={link} label="login link" />
      {publicUrl !== null && (
        <Suspense fallback={null}>
          <QrCode text={link} label="QR code of the login link" />
        </Suspense>
      )}
      <p className={css.hint}>
        {publicUrl !== null && 'Scan the code with the other device, or open the link there. '}
        Works once, for an hour. Anyone who has it can log in as you; a new login shows on every open board.
      </p>
    </div>
  );
}
