import { NewWebhook, type Signal, type Webhook, type WebhookForm, WebhookPatch } from '@callboard/contract';

/** The fields of a call to the outside as they are typed. Those of other forms than the chosen one are not sent. */
export interface WebhookFields {
  form: WebhookForm;
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

const SERVERS: Readonly<Partial<Record<WebhookForm, string>>> = {
  ntfy: 'https://ntfy.sh',
  telegram: 'https://api.telegram.org',
};

/** The server that most people use for a form. */
export const usualServer = (form: WebhookForm): string => SERVERS[form] ?? '';

const NOTHING = { url: '', secret: '', argv: '', seconds: '30', server: '', topic: '', token: '', chatId: '' };

/** Returns the fields of a new one, or of one that exists: its target is not known here. */
export function fieldsOf(webhook: Webhook | null): WebhookFields {
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
export function readFields(fields: WebhookFields) {
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
