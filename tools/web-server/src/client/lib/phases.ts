import {
  checkAtGate,
  checkOf,
  type Gate,
  isReview,
  type PermissionMode,
  type Phase,
  type StageView,
} from '@callboard/contract';
import { z } from 'zod';

/** A phase of a pipeline, as typed. */
export const PhaseForm = z.object({
  key: z.string(),
  name: z.string(),
  prompt: z.string(),
  /** Empty: the mode stays unchanged. */
  permissionMode: z.string(),
  gate: z.enum(['none', 'human', 'check']).catch('human'),
  /** The check, kept while another gate is chosen. Minutes and attempts are as typed. */
  command: z.string().default(''),
  minutes: z.string().default('10'),
  attempts: z.string().default('3'),
  /** What goes to Claude after a failure; empty: Callboard's own words. */
  message: z.string().default(''),
  isFresh: z.boolean().default(false),
  /** Claude reviews the changes beside the conversation. */
  isReview: z.boolean().default(false),
});
export type PhaseForm = z.infer<typeof PhaseForm>;

/** A phase as it is added to a form. */
export const emptyPhase = (): PhaseForm => ({
  key: crypto.randomUUID(),
  name: '',
  prompt: '',
  permissionMode: '',
  gate: 'human',
  command: '',
  minutes: '10',
  attempts: '3',
  message: '',
  isFresh: false,
  isReview: false,
});

export function phaseFormOf(phase: Phase, key: string): PhaseForm {
  const { name, prompt, permissionMode, gate, conversation } = phase;
  const check = checkOf(gate);
  const isFresh = conversation === 'fresh';
  const own = { key, name, prompt, permissionMode: permissionMode ?? '', isFresh, isReview: isReview(phase) };
  if (check === null) return { ...emptyPhase(), ...own, gate: gate === 'human' ? 'human' : 'none' };
  const { command, timeLimit, attempts, message } = check;
  const limits = { command, minutes: String(Number((timeLimit / 60).toFixed(2))), attempts: String(attempts) };
  return { ...own, gate: 'check', ...limits, message: message ?? '' };
}

/** Returns the phase to send. It is checked by its schema: what was typed may be no number. */
export const phaseOf = (form: PhaseForm): Phase => ({
  name: form.name,
  prompt: form.prompt,
  gate: gateOf(form),
  ...(form.isReview && { kind: 'review' as const }),
  conversation: form.isFresh ? 'fresh' : 'same',
  ...(form.permissionMode === '' ? {} : { permissionMode: form.permissionMode as PermissionMode }), // one of the options
});

function gateOf({ gate, command, minutes, attempts, message }: PhaseForm): Gate {
  if (gate !== 'check') return gate;
  const timeLimit = Math.round(numberOf(minutes) * 60);
  return { check: { command, timeLimit, attempts: numberOf(attempts), ...(message.trim() !== '' && { message }) } };
}

const numberOf = (typed: string): number => (typed.trim() === '' ? Number.NaN : Number(typed.replace(',', '.')));

const FIELDS: Readonly<Record<string, string>> = {
  name: 'name',
  kind: 'kind',
  prompt: 'prompt',
  command: 'command of the check',
  timeLimit: 'time limit of the check',
  attempts: 'number of attempts',
  message: 'message after a failure',
};

/** Says what is wrong with a phase. @param path from the index of the phase on, as the schema tells it */
export function phaseProblem(
  phases: readonly Pick<PhaseForm, 'key'>[],
  path: readonly PropertyKey[],
  message: string,
): string {
  const index = Number(path[0]);
  const phase = phases[index];
  if (phase === undefined) return 'There can be twenty phases at most.';
  // A gate tells of its check as a whole.
  const [, ofCheck, said = message] = /^check\.(\w+) (.*)$/s.exec(message) ?? [];
  const field = ofCheck ?? [...path].reverse().find((key) => Object.hasOwn(FIELDS, String(key)));
  return `The ${FIELDS[String(field)] ?? 'gate'} of phase ${index + 1} ${said}.`;
}

type Phased = Pick<StageView, 'pipeline' | 'session' | 'completedAt'>;

/** "Build, phase 2 of 3"; null for a stage without phases. */
export function phaseText({ pipeline, session }: Phased): string | null {
  const index = session?.phaseIndex ?? 0;
  const phase = pipeline[index];
  return phase === undefined ? null : `${phase.name}, phase ${index + 1} of ${pipeline.length}`;
}

/** The phase that waits at the gate; null if none does. */
export const phaseAtGate = ({ pipeline, session }: Phased): string | null =>
  session?.atGate === true && checkAtGate({ session }) === null
    ? (pipeline[session.phaseIndex + 1]?.name ?? null)
    : null;

export type PhaseState = 'done' | 'current' | 'to come';

/** The state of each phase. */
export function phaseStates({ pipeline, session, completedAt }: Phased): PhaseState[] {
  const reached = session?.phaseIndex ?? -1;
  return pipeline.map((_, index) => {
    if (
      completedAt !== null ||
      index < reached ||
      (index === reached && session?.atGate === true && checkAtGate({ session }) === null)
    )
      return 'done';
    return index === reached ? 'current' : 'to come';
  });
}
