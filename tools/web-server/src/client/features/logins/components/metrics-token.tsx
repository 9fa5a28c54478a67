import { Button } from '@mantine/core';
import { IconChartLine } from '@tabler/icons-react';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useMetricsToken } from '../api/login-commands.ts';
import css from './logins-dialog.module.css';

/** Makes a token with which Prometheus reads the metrics, and shows it until the dialog is closed. */
export function MetricsToken() {
  const make = useMetricsToken();
  const canCommand = useCanCommand();
  return (
    <section className={css.device} aria-label="Metrics">
      {make.data === undefined ? (
        <p className={css.hint}>
          Prometheus reads <code>/metrics</code> with a token that can do nothing else.
        </p>
      ) : (
        <div role="status" className={css.link}>
          <CopyLine text={make.data.token} label="token for metrics" />
          <p className={css.hint}>Copy it now: it is not shown again. Revoke it above.</p>
        </div>
      )}
      {make.isError && <ErrorNote lead="No token was made." error={make.error} />}
      <Button
        variant="default"
        leftSection={<IconChartLine size={16} />}
        disabled={!canCommand}
        loading={make.isPending}
        onClick={() => make.mutate(undefined)}
      >
        {make.data === undefined ? 'Make a token for metrics' : 'Make another token'}
      </Button>
    </section>
  );
}
