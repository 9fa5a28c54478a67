import { type Webhook, WebhookForm } from '@callboard/contract';
import { Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { usualServer, type WebhookErrors, type WebhookFields } from '../model/webhook-form.ts';
import { formNames } from '../model/webhook-words.ts';
import css from './outgoing.module.css';

interface TargetFieldsProps {
  webhook: Webhook | null;
  fields: WebhookFields;
  errors: WebhookErrors;
  set: (change: Partial<WebhookFields>) => void;
}

/** Where it goes. One that exists keeps that, unless it is entered anew, with its secrets. */
export function TargetFields(props: TargetFieldsProps) {
  const { webhook, fields, set } = props;
  if (webhook !== null && !fields.setsTarget)
    return (
      <div className={css.kept}>
        <div className={css.words}>
          {formNames[webhook.form]}: <span className={css.code}>{webhook.where}</span>
          <div className={css.hint}>Secrets are not shown. To change something, enter all of it again.</div>
        </div>
        <Button variant="default" size="compact-md" onClick={() => set({ setsTarget: true })}>
          Replace
        </Button>
      </div>
    );
  return (
    <>
      <NativeSelect
        label="Goes to"
        data={WebhookForm.options.map((form) => ({ value: form, label: formNames[form] }))}
        value={fields.form}
        onChange={({ currentTarget: { value } }) => {
          const form = WebhookForm.parse(value);
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
