import { type BoardView, Signal, type Webhook } from '@callboard/contract';
import { Button, Checkbox, MultiSelect, NativeSelect, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { failureLead } from '../../../lib/api-client.ts';
import { signalTitles } from '../../../lib/signal-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useSaveWebhook } from '../api/use-webhooks.ts';
import { fieldsOf, readFields, type WebhookErrors, type WebhookFields } from '../model/webhook-form.ts';
import { formatDelay, formNames, hasFollowUp } from '../model/webhook-words.ts';
import css from './outgoing.module.css';
import { TargetFields } from './target-fields.tsx';

const DELAYS = [0, 1, 2, 5, 10, 15, 30, 60];

interface WebhookFormProps {
  /** Null for a new one. */
  webhook: Webhook | null;
  projects: BoardView['projects'];
  close: () => void;
}

/** The form of a new one, or of one that exists: its target is shown only as far as it is no secret. */
export function WebhookForm({ webhook, projects, close }: WebhookFormProps) {
  const [fields, setFields] = useState(() => fieldsOf(webhook));
  const [errors, setErrors] = useState<WebhookErrors>({});
  const set = (change: Partial<WebhookFields>) => setFields((old) => ({ ...old, ...change }));
  const save = useSaveWebhook(webhook?.webhookId ?? null);
  const canCommand = useCanCommand();
  const form = useRef<HTMLFormElement>(null);
  // A form is longer than a phone: what has to be mended may be out of sight.
  useEffect(() => {
    if (Object.keys(errors).length > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [errors]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readFields(fields);
    setErrors(read.errors ?? {});
    if (read.webhook === undefined) return;
    save.mutate(read.webhook, { onSuccess: ({ secret }) => secret === null && close() });
  };
  if (save.data?.secret != null) return <Secret secret={save.data.secret} close={close} />;
  return (
    <form className={css.form} ref={form} onSubmit={submit} noValidate>
      <TextInput
        label="Name"
        value={fields.name}
        error={errors.name}
        onChange={({ currentTarget: { value } }) => set({ name: value })}
        data-autofocus
        required
      />
      <TargetFields webhook={webhook} fields={fields} errors={errors} set={set} />
      <Choices fields={fields} errors={errors} set={set} projects={projects} />
      <div className={css.end}>
        {save.isError && (
          <div className={css.failure}>
            <ErrorNote lead={failureLead(save.error)} saysBoth error={save.error} />
          </div>
        )}
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
        <Button type="submit" disabled={!canCommand} loading={save.isPending}>
          {webhook === null ? 'Add' : 'Save'}
        </Button>
      </div>
    </form>
  );
}

interface ChoicesProps {
  fields: WebhookFields;
  errors: WebhookErrors;
  set: (change: Partial<WebhookFields>) => void;
  projects: BoardView['projects'];
}

/** What it is told, and when. */
function Choices({ fields, errors, set, projects }: ChoicesProps) {
  const { form, signals, afterMinutes, projectIds, tellsSettled } = fields;
  const delays = [...new Set([...DELAYS, afterMinutes])].toSorted((a, b) => a - b);
  const known = projects.map(({ id, name }) => ({ value: String(id), label: name }));
  const gone = projectIds.filter((id) => !known.some(({ value }) => value === id));
  return (
    <>
      <Checkbox.Group
        label="Signals"
        value={signals}
        error={errors.signals}
        onChange={(chosen) => set({ signals: Signal.options.filter((signal) => chosen.includes(signal)) })}
      >
        <div className={css.signals}>
          {Signal.options.map((signal) => (
            <Checkbox key={signal} value={signal} label={signalTitles[signal]} />
          ))}
        </div>
      </Checkbox.Group>
      <NativeSelect
        label="When"
        description="Several with different times are an escalation."
        data={delays.map((minutes) => ({ value: String(minutes), label: formatDelay(minutes) }))}
        value={String(afterMinutes)}
        error={errors.afterMinutes}
        onChange={({ currentTarget: { value } }) => set({ afterMinutes: Number(value) })}
      />
      <MultiSelect
        label="Projects"
        placeholder={projectIds.length === 0 ? 'All projects' : ''}
        data={[...known, ...gone.map((id) => ({ value: id, label: `${id} (removed)` }))]}
        value={projectIds}
        error={errors.projectIds}
        onChange={(chosen) => set({ projectIds: chosen })}
        comboboxProps={{ withinPortal: false }}
      />
      {hasFollowUp(form) ? (
        <Checkbox
          label="Report when it is settled"
          description={
            form === 'telegram'
              ? 'Changes the message once nobody is needed any more.'
              : 'Calls again with settled once nobody is needed any more.'
          }
          checked={tellsSettled}
          onChange={({ currentTarget: { checked } }) => set({ tellsSettled: checked })}
        />
      ) : (
        <p className={css.hint}>{formNames[form]} is not told when somebody has answered: messages there stay.</p>
      )}
    </>
  );
}

/** Shown once: Callboard does not give it out again. */
function Secret({ secret, close }: { secret: string; close: () => void }) {
  return (
    <div className={css.form}>
      <p>Your server verifies each call with this secret. Copy it now: it is not shown again.</p>
      <div role="status">
        <CopyLine text={secret} label="secret" />
      </div>
      <div className={css.end}>
        <Button onClick={close}>Done</Button>
      </div>
    </div>
  );
}
