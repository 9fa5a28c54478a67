import {
  type BoardView,
  NewWebhook,
  Signal,
  type Webhook,
  WebhookForm as WebhookDraft,
  WebhookPatch,
} from '@callboard/contract';
import { Box, Button, Checkbox, Group, MultiSelect, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { failureLead } from '../../lib/api-client.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import { CopyLine, ErrorNote } from '../../ui/notes.tsx';
import { Hint } from '../../ui/primitives.tsx';
import { formatDelay, formNames, hasFollowUp, signalTitles, useSaveWebhook } from './webhook-data.ts';

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
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="lg">
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
        <FormEnd>
          {save.isError && (
            <Box flex="1 0 100%">
              <ErrorNote lead={failureLead(save.error)} saysBoth error={save.error} />
            </Box>
          )}
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" disabled={!canCommand} loading={save.isPending}>
            {webhook === null ? 'Add' : 'Save'}
          </Button>
        </FormEnd>
      </Stack>
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
        <Group gap="8px 16px" mt="xs">
          {Signal.options.map((signal) => (
            <Checkbox key={signal} value={signal} label={signalTitles[signal]} />
          ))}
        </Group>
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
        <Hint>{formNames[form]} is not told when somebody has answered: messages there stay.</Hint>
      )}
    </>
  );
}

/** Shown once: Callboard does not give it out again. */
function Secret({ secret, close }: { secret: string; close: () => void }) {
  return (
    <Stack gap="lg">
      <p>Your server verifies each call with this secret. Copy it now: it is not shown again.</p>
      <div role="status">
        <CopyLine text={secret} label="secret" />
      </div>
      <FormEnd>
        <Button onClick={close}>Done</Button>
      </FormEnd>
    </Stack>
  );
}

/** The fields of a call to the outside as they are typed. Those of other forms than the chosen one are not sent. */
export interface WebhookFields {
  form: WebhookDraft;
  /** Whether the target is entered, as for a new one, or stays as it is. */
  setsTarget: boolean;
  name: string;
  url: string;
  secret: string;
  /** One argument on each line. */
  argv: string;
  seconds: string;
  server: string;
  topic: string;
  token: string;
  chatId: string;
  allowsThisMachine: boolean;
  signals: Signal[];
  afterMinutes: number;
  projectIds: string[];
  tellsSettled: boolean;
}

/** What is wrong, by field; under `''` what belongs to none. */
export type WebhookErrors = Readonly<Record<string, string>>;

const SERVERS: Readonly<Partial<Record<WebhookDraft, string>>> = {
  ntfy: 'https://ntfy.sh',
  telegram: 'https://api.telegram.org',
};

/** The server that most people use for a form. */
const usualServer = (form: WebhookDraft): string => SERVERS[form] ?? '';

const NOTHING = { url: '', secret: '', argv: '', seconds: '30', server: '', topic: '', token: '', chatId: '' };

/** Returns the fields of a new one, or of one that exists: its target is not known here. */
function fieldsOf(webhook: Webhook | null): WebhookFields {
  if (webhook === null)
    return {
      ...NOTHING,
      form: 'webhook',
      setsTarget: true,
      name: '',
      allowsThisMachine: false,
      signals: ['waiting', 'failed', 'finished'],
      afterMinutes: 0,
      projectIds: [],
      tellsSettled: true,
    };
  const { form, name, signals, afterMinutes, projectIds, tellsSettled } = webhook;
  return {
    ...NOTHING,
    form,
    setsTarget: false,
    name,
    allowsThisMachine: false,
    server: usualServer(form),
    signals,
    afterMinutes,
    projectIds: projectIds ?? [],
    tellsSettled,
  };
}

function targetOf(fields: WebhookFields): object {
  const { form, url, secret, argv, seconds, server, topic, token, chatId, allowsThisMachine } = fields;
  switch (form) {
    case 'webhook':
      return { form, url, allowsThisMachine, ...(secret !== '' && { secret }) };
    case 'command':
      return { form, argv: linesOf(argv), timeLimitSeconds: Number(seconds) };
    case 'ntfy':
      return { form, server, topic, token: token === '' ? null : token, allowsThisMachine };
    case 'telegram':
      return { form, server, token, chatId, allowsThisMachine };
    default:
      return { form, url, allowsThisMachine };
  }
}

/** An empty line at the end is no argument. */
const linesOf = (text: string): string[] => text.replace(/\n+$/, '').split('\n');

/** Returns what is to be sent, or what is wrong with it. */
function readFields(fields: WebhookFields) {
  const { setsTarget, name, signals, afterMinutes, projectIds, tellsSettled } = fields;
  const choices = {
    name,
    signals,
    afterMinutes,
    tellsSettled,
    projectIds: projectIds.length === 0 ? null : projectIds,
  };
  const parsed = setsTarget
    ? NewWebhook.omit({ isOn: true }).safeParse({ ...choices, target: targetOf(fields) })
    : WebhookPatch.safeParse(choices);
  if (parsed.success) return { webhook: parsed.data };
  const errors: Record<string, string> = {};
  for (const { path, message } of parsed.error.issues) {
    const [first, second] = path;
    errors[String(first === 'target' ? second : first)] ??= message;
  }
  return { errors };
}

interface TargetFieldsProps {
  webhook: Webhook | null;
  fields: WebhookFields;
  errors: WebhookErrors;
  set: (change: Partial<WebhookFields>) => void;
}

/** Where it goes. One that exists keeps that, unless it is entered anew, with its secrets. */
function TargetFields(props: TargetFieldsProps) {
  const { webhook, fields, set } = props;
  if (webhook !== null && !fields.setsTarget)
    return (
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Box miw={0}>
          {formNames[webhook.form]}: <code>{webhook.where}</code>
          <Hint component="div">Secrets are not shown. To change something, enter all of it again.</Hint>
        </Box>
        <Button variant="default" size="compact-md" onClick={() => set({ setsTarget: true })}>
          Replace
        </Button>
      </Group>
    );
  return (
    <>
      <NativeSelect
        label="Goes to"
        data={WebhookDraft.options.map((form) => ({ value: form, label: formNames[form] }))}
        value={fields.form}
        onChange={({ currentTarget: { value } }) => {
          const form = WebhookDraft.parse(value);
          set({ form, server: usualServer(form) });
        }}
      />
      <OfForm {...props} />
      {fields.form !== 'command' && (
        <Checkbox
          label="On this machine"
          description="The receiver runs on the machine of Callboard itself. If off, such addresses are refused."
          checked={fields.allowsThisMachine}
          onChange={({ currentTarget: { checked } }) => set({ allowsThisMachine: checked })}
        />
      )}
    </>
  );
}

/** A field of one line. */
type LineField = 'url' | 'secret' | 'seconds' | 'server' | 'topic' | 'token' | 'chatId';

interface LineProps extends TargetFieldsProps {
  name: LineField;
  label: string;
  description?: string;
  placeholder?: string;
  isSecret?: boolean;
  isOptional?: boolean;
}

const Line = ({ name, fields, errors, set, isSecret = false, isOptional = false, ...shown }: LineProps) => (
  <TextInput
    label={shown.label}
    description={shown.description}
    placeholder={shown.placeholder}
    type={isSecret ? 'password' : 'text'}
    autoComplete="off"
    spellCheck={false}
    value={fields[name]}
    error={errors[name]}
    required={!isOptional}
    onChange={({ currentTarget: { value } }) => set({ [name]: value.trim() })}
  />
);

function OfForm(props: TargetFieldsProps) {
  switch (props.fields.form) {
    case 'webhook':
      return (
        <>
          <Line {...props} name="url" label="Address" placeholder="https://hooks.example.com/callboard" />
          <Line
            {...{ ...props, name: 'secret', label: 'Secret', isSecret: true, isOptional: true }}
            description="Signs each call: whsec_ and base64. Empty: Callboard makes one and shows it once."
          />
        </>
      );
    case 'command':
      return <CommandFields {...props} />;
    case 'ntfy':
      return (
        <>
          <Line {...props} name="server" label="Server" />
          <Line
            {...props}
            name="topic"
            label="Topic"
            description="Anyone who knows it can read the messages."
            isSecret
          />
          <Line
            {...props}
            name="token"
            label="Access token"
            description="If the topic needs one."
            isSecret
            isOptional
          />
        </>
      );
    case 'telegram':
      return (
        <>
          <Line {...props} name="token" label="Token of the bot" description="From @BotFather." isSecret />
          <Line {...props} name="chatId" label="Chat" description="Its number, or the @name of a channel." />
          <Line {...props} name="server" label="Server" />
        </>
      );
    case 'slack':
      return <Line {...props} name="url" label="Address" description="From a Slack incoming webhook." isSecret />;
    case 'discord':
      return <Line {...props} name="url" label="Address" description="Of a webhook of the channel." isSecret />;
    default:
      return props.fields.form satisfies never;
  }
}

function CommandFields(props: TargetFieldsProps) {
  const { fields, errors, set } = props;
  return (
    <>
      <Textarea
        label="Command"
        description="The program and its arguments, one on each line. No shell reads them; the event is in the environment. It runs outside of the sandbox, and everybody on this board can read it here."
        placeholder={'notify-send\nCallboard'}
        autosize
        minRows={2}
        maxRows={10}
        spellCheck={false}
        value={fields.argv}
        error={errors.argv}
        required
        styles={{ input: { fontFamily: 'var(--font-code)' } }}
        onChange={({ currentTarget: { value } }) => set({ argv: value })}
      />
      <Line {...props} name="seconds" label="Time limit" description="In seconds, 60 at most." />
    </>
  );
}
