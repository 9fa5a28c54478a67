import { z } from 'zod';
import { Signal } from './alerts.ts';
import { ProjectId, RequestId, StageId } from './ids.ts';

/**
 * Calls of Callboard to the outside when somebody is needed. `webhook` is a signed JSON request of its own; `command` a program on this
 * machine; the others speak the format of a service.
 */
export const WebhookForm = z.enum(['webhook', 'command', 'ntfy', 'slack', 'discord', 'telegram']);
export type WebhookForm = z.infer<typeof WebhookForm>;

/** The forms that can tell later that nobody is needed any more. Messages of the others cannot be replaced. */
export const FORMS_WITH_FOLLOW_UP: readonly WebhookForm[] = ['webhook', 'command', 'telegram'];

const MAX_ARGUMENTS = 50;
const MAX_COMMAND_S_LENGTH = 60;

const Address = z
  .url({ protocol: /^https?$/, error: 'is not an address that begins with https:// or http://' })
  .max(2_000)
  .refine((url) => {
    const { username, password } = URL.canParse(url) ? new URL(url) : { username: '', password: '' };
    return username === '' && password === '';
  }, 'must not contain a user name or a password');
/** One line that fits into a header. */
const Token = z.string().regex(/^[\x21-\x7e]{1,500}$/, 'must be one word of plain characters');
/** Whether the address may be on the machine of Callboard itself. */
const allowsThisMachine = z.boolean().default(false);

/** Where the calls go, with the secrets that they need. It is written and replaced, and never read back. */
export const WebhookTarget = z.discriminatedUnion('form', [
  z.strictObject({
    form: z.literal('webhook'),
    url: Address,
    /** Signs each call. Left out, Callboard makes one, and shows it once. */
    secret: z
      .string()
      .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, 'must be whsec_ and 24 to 64 bytes in base64')
      .optional(),
    allowsThisMachine,
  }),
  z.strictObject({
    form: z.literal('command'),
    /** The program and its arguments. No shell reads them. */
    argv: z
      .array(
        z
          .string()
          .max(4_000)
          .regex(/^[^\0]*$/, 'has a null character'),
      )
      .min(1, 'names no program')
      .max(MAX_ARGUMENTS)
      .refine(([program = '']) => program.trim() !== '', 'names no program'),
    timeLimitSeconds: z.int().min(1).max(MAX_COMMAND_S_LENGTH).default(30),
  }),
  z.strictObject({
    form: z.literal('ntfy'),
    server: Address,
    topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/, 'must be letters, digits, dashes or underscores, 64 at most'),
    token: Token.nullable().default(null),
    allowsThisMachine,
  }),
  z.strictObject({ form: z.literal('slack'), url: Address, allowsThisMachine }),
  z.strictObject({ form: z.literal('discord'), url: Address, allowsThisMachine }),
  z.strictObject({
    form: z.literal('telegram'),
    token: z.string().regex(/^\d{1,20}:[A-Za-z0-9_-]{20,100}$/, 'is not the token of a bot'),
    /** The number of a chat, or the @name of a channel. */
    chatId: z.string().regex(/^(-?\d{1,20}|@[A-Za-z][A-Za-z0-9_]{3,40})$/, 'is neither the number of a chat nor @name'),
    server: Address.default('https://api.telegram.org'),
    allowsThisMachine,
  }),
]);
export type WebhookTarget = z.infer<typeof WebhookTarget>;

const choices = {
  name: z.string().trim().min(1, 'is empty').max(80),
  signals: z.array(Signal).min(1, 'has no signal').max(Signal.options.length),
  /** Null for all projects, also those to come. */
  projectIds: z.array(ProjectId).min(1, 'has no project').max(1_000).nullable(),
  /** It is called only if nobody has answered for so long; 0 calls at once. */
  afterMinutes: z
    .int()
    .min(0)
    .max(24 * 60),
  /** Whether it is called again once nobody is needed any more, where its form can tell that. */
  tellsSettled: z.boolean(),
  isOn: z.boolean(),
};

export const NewWebhook = z.strictObject({
  name: choices.name,
  target: WebhookTarget,
  signals: choices.signals.default(['waiting', 'failed', 'finished']),
  projectIds: choices.projectIds.default(null),
  afterMinutes: choices.afterMinutes.default(0),
  tellsSettled: choices.tellsSettled.default(true),
  isOn: choices.isOn.default(true),
});
export type NewWebhook = z.infer<typeof NewWebhook>;

/** What is left out stays. A target is replaced as a whole. */
export const WebhookPatch = z.strictObject({
  name: choices.name.optional(),
  target: WebhookTarget.optional(),
  signals: choices.signals.optional(),
  projectIds: choices.projectIds.optional(),
  afterMinutes: choices.afterMinutes.optional(),
  tellsSettled: choices.tellsSettled.optional(),
  isOn: choices.isOn.optional(),
});

/** A webhook as anybody may see it: without secrets. */
export const Webhook = z.object({
  webhookId: z.string(),
  ...choices,
  form: WebhookForm,
  /** Where it goes, without what must stay secret: the server, the chat, the command. */
  where: z.string(),
  createdAt: z.iso.datetime(),
  createdBy: z.string(),
  /** When a call last succeeded. */
  sentAt: z.iso.datetime().nullable(),
  /** Why the newest call failed; null if it did not. */
  problem: z.object({ at: z.iso.datetime(), text: z.string() }).nullable(),
});
export type Webhook = z.infer<typeof Webhook>;

/** One call of a webhook, and what became of it. */
export const WebhookCall = z.object({
  callId: z.string(),
  signal: Signal,
  stageId: StageId,
  /** Null once the stage is deleted. */
  stageTitle: z.string().nullable(),
  requestId: RequestId.nullable(),
  /** It tells that nobody is needed any more. */
  isFollowUp: z.boolean(),
  /** `queued`: due at `dueAt`. `dropped`: it will not be sent, or not again; `error`: why, or why the last attempt failed. */
  state: z.enum(['queued', 'sent', 'dropped']),
  attempts: z.int(),
  dueAt: z.iso.datetime(),
  /** When the newest attempt began. */
  triedAt: z.iso.datetime().nullable(),
  error: z.string().nullable(),
});
export type WebhookCall = z.infer<typeof WebhookCall>;

/** What a `webhook` gets as its body, and a `command` as its input. */
export const WebhookEvent = z.object({
  /** The same for every attempt, also for one that a person repeats: also in the header `webhook-id`. */
  id: z.string(),
  /** `settled`: nobody is needed any more for what was told before. */
  type: z.enum([...Signal.options, 'settled', 'test']),
  /** When it came to be so. */
  timestamp: z.iso.datetime(),
  data: z.object({
    /** Of a `settled`: what was told before. */
    signal: Signal,
    /** One line for a person. */
    title: z.string(),
    /** What Claude asks or what went wrong, 160 characters at most; often empty. */
    text: z.string(),
    /** The page that shows it; null without `--public-url`. */
    url: z.url().nullable(),
    project: z.object({ id: ProjectId, name: z.string() }).nullable(),
    stage: z.object({ id: StageId, title: z.string() }).nullable(),
    /** Null if it is about the stage. */
    request: z.object({ id: RequestId, kind: z.string(), toolName: z.string() }).nullable(),
  }),
});
export type WebhookEvent = z.infer<typeof WebhookEvent>;
