import type { Webhook } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { webhooksQuery } from '../api/use-webhooks.ts';
import css from './outgoing.module.css';
import { WebhookForm } from './webhook-form.tsx';
import { WebhookRow } from './webhook-row.tsx';

/** The calls to the outside: what each gets, how it went, and a form for one. */
export function OutgoingPart() {
  const { data, error, refetch } = useQuery(webhooksQuery);
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  /** Null while the dialog is closed; `new` or the one that is edited. */
  const [edited, setEdited] = useState<Webhook | 'new' | null>(null);
  const canCommand = useCanCommand();
  const close = () => setEdited(null);
  return (
    <>
      <p className={css.about}>
        Calls a webhook or a service, or runs a command, even when no browser is open. Applies to everyone on this
        board.
      </p>
      {error !== null && <ErrorNote lead="The list could not be read." error={error} retry={() => void refetch()} />}
      {data !== undefined && data.length > 0 && (
        <ul className={css.list} aria-label="Outgoing">
          {data.map((webhook) => (
            <WebhookRow key={webhook.webhookId} webhook={webhook} projects={projects} edit={() => setEdited(webhook)} />
          ))}
        </ul>
      )}
      <Button
        className={css.add}
        variant="default"
        leftSection={<IconPlus size={16} />}
        disabled={!canCommand}
        onClick={() => setEdited('new')}
      >
        Add
      </Button>
      <Dialog
        opened={edited !== null}
        close={close}
        title={edited === 'new' || edited === null ? 'Add an outgoing call' : `Edit ${edited.name}`}
        size={560}
      >
        {edited !== null && (
          <WebhookForm webhook={edited === 'new' ? null : edited} projects={projects} close={close} />
        )}
      </Dialog>
    </>
  );
}
