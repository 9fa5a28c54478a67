import type { BoardView, Webhook } from '@callboard/contract';
import { Button, Switch } from '@mantine/core';
import { useId, useState } from 'react';
import { failureLead } from '../../../lib/api-client.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Confirm } from '../../../ui/confirm-dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useRemoveWebhook, useSwitchWebhook, useTestWebhook } from '../api/use-webhooks.ts';
import { choiceText, formNames } from '../model/webhook-words.ts';
import css from './outgoing.module.css';
import { WebhookCalls } from './webhook-calls.tsx';

interface WebhookRowProps {
  webhook: Webhook;
  projects: BoardView['projects'];
  edit: () => void;
}

/** One of them: where it goes, how the last call went, and what can be done with it. */
export function WebhookRow({ webhook, projects, edit }: WebhookRowProps) {
  const { webhookId, name, form, where, isOn, sentAt, problem } = webhook;
  const [isOpen, setOpen] = useState(false);
  const calls = useId();
  const canCommand = useCanCommand();
  const set = useSwitchWebhook(webhook);
  const test = useTestWebhook(webhook);
  const nameOf = (id: string) => projects.find((project) => project.id === id)?.name ?? `${id} (removed)`;
  const button = { variant: 'default', size: 'compact-md', disabled: !canCommand } as const;
  return (
    <li className={css.row} aria-label={name}>
      <div className={css.top}>
        <div className={css.words}>
          <div className={css.name}>{name}</div>
          <div className={css.hint}>
            {formNames[form]}: <span className={form === 'command' ? css.code : undefined}>{where}</span>
          </div>
          <div className={css.hint}>{choiceText(webhook, nameOf)}</div>
        </div>
        <Switch
          aria-label={`${name} is on`}
          checked={set.isPending ? set.variables : isOn}
          disabled={!canCommand || set.isPending}
          onChange={({ currentTarget: { checked } }) => set.mutate(checked)}
        />
      </div>
      {set.isError && <ErrorNote lead={failureLead(set.error)} saysBoth error={set.error} />}
      {test.isError && <ErrorNote error={test.error} />}
      {problem !== null && !test.isError && (
        <FailureNote>
          The last call failed <TimeSince at={problem.at} ago />. {problem.text}
        </FailureNote>
      )}
      <div className={css.actions}>
        <Button {...button} loading={test.isPending} onClick={() => test.mutate(undefined)}>
          Send a test
        </Button>
        <Button {...button} onClick={edit}>
          Edit
        </Button>
        <Remove webhook={webhook} />
        <Button
          {...button}
          variant="subtle"
          aria-expanded={isOpen}
          aria-controls={calls}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Hide calls' : 'Show calls'}
        </Button>
        {test.isSuccess ? (
          <span className={css.hint} role="status">
            The test was delivered.
          </span>
        ) : (
          problem === null &&
          sentAt !== null && (
            <span className={css.hint}>
              Last sent <TimeSince at={sentAt} ago />
            </span>
          )
        )}
      </div>
      <div id={calls}>{isOpen && <WebhookCalls webhookId={webhookId} />}</div>
    </li>
  );
}

function Remove({ webhook }: { webhook: Webhook }) {
  const [isAsked, setAsked] = useState(false);
  const canCommand = useCanCommand();
  const remove = useRemoveWebhook(webhook);
  return (
    <>
      <Button variant="default" size="compact-md" disabled={!canCommand} onClick={() => setAsked(true)}>
        Remove
      </Button>
      {remove.isError && <ErrorNote lead="It was not removed." error={remove.error} />}
      <Confirm
        opened={isAsked}
        title={`Remove ${webhook.name}`}
        text="Anything not sent yet will not be sent. Its address and its secrets are deleted."
        verb="Remove"
        busy={remove.isPending}
        confirm={() => remove.mutate(undefined, { onSettled: () => setAsked(false) })}
        close={() => setAsked(false)}
      />
    </>
  );
}
