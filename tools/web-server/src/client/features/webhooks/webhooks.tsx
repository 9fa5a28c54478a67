import type { BoardView, Webhook, WebhookCall } from '@callboard/contract';
import { Box, Button, Flex, Group, Stack, Switch, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { Link } from 'react-router';
import { boardQuery } from '../../data/queries.ts';
import { failureLead } from '../../lib/api-client.ts';
import { useNow } from '../../lib/hooks.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { ErrorNote, FailureNote } from '../../ui/notes.tsx';
import { Entry, Hint, Indented } from '../../ui/primitives.tsx';
import { TimeSince } from '../../ui/text.tsx';
import {
  callsQuery,
  choiceText,
  deliveryStatusText,
  formNames,
  signalTitles,
  useRemoveWebhook,
  useRepeatCall,
  useSwitchWebhook,
  useTestWebhook,
  webhooksQuery,
} from './webhook-data.ts';
import { WebhookForm } from './webhook-form.tsx';

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
      <Hint mb="sm">
        Calls a webhook or a service, or runs a command, even when no browser is open. Applies to everyone on this
        board.
      </Hint>
      {error !== null && <ErrorNote lead="The list could not be read." error={error} retry={() => void refetch()} />}
      {data !== undefined && data.length > 0 && (
        <Box component="ul" mb="md" aria-label="Outgoing">
          {data.map((webhook) => (
            <WebhookRow key={webhook.webhookId} webhook={webhook} projects={projects} edit={() => setEdited(webhook)} />
          ))}
        </Box>
      )}
      <Button
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

interface WebhookRowProps {
  webhook: Webhook;
  projects: BoardView['projects'];
  edit: () => void;
}

/** One of them: where it goes, how the last call went, and what can be done with it. */
function WebhookRow({ webhook, projects, edit }: WebhookRowProps) {
  const { webhookId, name, form, where, isOn, sentAt, problem } = webhook;
  const [isOpen, setOpen] = useState(false);
  const calls = useId();
  const canCommand = useCanCommand();
  const set = useSwitchWebhook(webhook);
  const test = useTestWebhook(webhook);
  const nameOf = (id: string) => projects.find((project) => project.id === id)?.name ?? `${id} (removed)`;
  const button = { variant: 'default', size: 'compact-md', disabled: !canCommand } as const;
  return (
    <Entry aria-label={name}>
      <Stack>
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <Box miw={0}>
            <Text fw={500}>{name}</Text>
            <Hint component="div">
              {formNames[form]}: {form === 'command' ? <code>{where}</code> : where}
            </Hint>
            <Hint component="div">{choiceText(webhook, nameOf)}</Hint>
          </Box>
          <Switch
            aria-label={`${name} is on`}
            checked={set.isPending ? set.variables : isOn}
            disabled={!canCommand || set.isPending}
            onChange={({ currentTarget: { checked } }) => set.mutate(checked)}
          />
        </Group>
        {set.isError && <ErrorNote lead={failureLead(set.error)} saysBoth error={set.error} />}
        {test.isError && <ErrorNote error={test.error} />}
        {problem !== null && !test.isError && (
          <FailureNote>
            The last call failed <TimeSince at={problem.at} ago />. {problem.text}
          </FailureNote>
        )}
        <Group>
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
            <Hint span role="status">
              The test was delivered.
            </Hint>
          ) : (
            problem === null &&
            sentAt !== null && (
              <Hint span>
                Last sent <TimeSince at={sentAt} ago />
              </Hint>
            )
          )}
        </Group>
        <div id={calls}>{isOpen && <WebhookCalls webhookId={webhookId} />}</div>
      </Stack>
    </Entry>
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

/** The newest calls of a webhook, newest first, and what became of each. */
function WebhookCalls({ webhookId }: { webhookId: string }) {
  const { data, error, refetch } = useQuery(callsQuery(webhookId));
  if (error !== null)
    return <ErrorNote lead="Its calls could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  if (data.length === 0) return <Hint>No calls in the last week.</Hint>;
  return (
    <Indented component="ul" fz="row" aria-label="Newest calls">
      {data.map((call) => (
        <Call key={call.callId} webhookId={webhookId} call={call} />
      ))}
    </Indented>
  );
}

function Call({ webhookId, call }: { webhookId: string; call: WebhookCall }) {
  const { callId, signal, stageId, stageTitle, isFollowUp, state, triedAt, error } = call;
  const now = new Date(useNow());
  const canCommand = useCanCommand();
  const repeat = useRepeatCall(webhookId);
  const fate = deliveryStatusText(call, now);
  const what = `${isFollowUp ? 'Settled: ' : ''}${signalTitles[signal]}`;
  return (
    <Flex component="li" justify="space-between" align="center" gap="sm">
      <Box miw={0}>
        <div>
          {what} · {stageTitle === null ? stageId : <Link to={`/stages/${stageId}`}>{stageTitle}</Link>}
        </div>
        <Text component="div" inherit c={state === 'sent' ? 'dimmed' : undefined}>
          {fate ?? 'Sent'}
          {triedAt !== null && (
            <>
              {fate === null ? ' ' : ' · tried '}
              <TimeSince at={triedAt} ago />
            </>
          )}
          {error !== null && `. ${error}`}
        </Text>
        {repeat.isError && <ErrorNote error={repeat.error} />}
      </Box>
      <Button
        variant="default"
        size="compact-md"
        aria-label={`${state === 'queued' ? 'Send now' : 'Send again'}: ${what}, ${stageTitle ?? stageId}`}
        disabled={!canCommand}
        loading={repeat.isPending}
        onClick={() => repeat.mutate(callId)}
      >
        {state === 'queued' ? 'Send now' : 'Send again'}
      </Button>
    </Flex>
  );
}
